#compdef polder
# Completion of polder for zsh: source <(polder completions zsh), or this text as `_polder` in a directory of $fpath.
_polder() {
    local out code line
    local -a values
    # The polder of PATH: a program that the line names by a path has not been called yet.
    out=$(command polder complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    code=$?
    case $code in
    0)
        for line in ${(f)out}; do
            # `_describe` takes a colon for the end of the value.
            values+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        done
        _describe -V 'polder' values
        ;;
    10) _files ;;
    11)
        shift $out words
        (( CURRENT -= out ))
        _normal
        ;;
    esac
}
if [[ ${funcstack[1]} == _polder ]]; then
    _polder "$@"
else
    compdef _polder polder
fi
