# Completion of polder for bash 4.4 or newer: source <(polder completions bash)
_polder() {
    local word glued= i out code line cur prefix words=()
    # Readline breaks `--engine=x` and `host:443` into three words each; polder wants the user's.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ${#words[@]} -gt 0 && ( -n $glued || $word =~ ^[=:]+$ ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        glued=
        [[ $word =~ ^[=:]+$ ]] && glued=1
    done
    cur=${words[-1]}
    # The polder of PATH: a program that the line names by a path has not been called yet.
    out=$(command polder complete -- "${words[@]}" 2>/dev/null)
    code=$?
    COMPREPLY=()
    case $code in
    0)
        prefix=${cur%"${cur##*[=:]}"}
        while IFS= read -r line; do
            line=${line%%$'\t'*}
            [[ -n $line ]] && COMPREPLY+=("${line#"$prefix"}")
        done <<<"$out"
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
        ;;
    10) compopt -o default ;;
    11)
        if [[ $out -eq ${#words[@]} ]]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
            compopt -o default
        fi
        ;;
    esac
}
complete -F _polder polder
