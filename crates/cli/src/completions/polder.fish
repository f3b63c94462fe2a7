# Completion of polder for fish: polder completions fish | source
function __polder_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token --cut-at-cursor)
    set -e words[1]
    # The polder of PATH: a program that the line names by a path has not been called yet.
    set -l out (command polder complete -- $words 2>/dev/null)
    switch $status
        case 0
            test (count $out) -gt 0; and printf '%s\n' $out
        case 10
            __fish_complete_path (commandline --current-token --cut-at-cursor)
        case 11
            complete --do-complete (string join ' ' -- (string escape -- $words[$out[1]..-1]))
    end
end
complete --command polder --no-files --arguments '(__polder_complete)'
