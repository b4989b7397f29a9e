# gantry_add_shell_files(TOOL [COMMAND ...])
#
# Completion of bash, zsh and fish and the manual page of a tool, made by the tool itself, in
# build/share as they are installed. Each COMMAND is a subcommand that has a manual page of its own:
# `TOOL man COMMAND`.

function(gantry_add_shell_files tool)
  set(files "")
  macro(gantry_shell_file file)
    set(made ${PROJECT_BINARY_DIR}/share/${file})
    get_filename_component(folder ${made} DIRECTORY)
    add_custom_command(OUTPUT ${made}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${tool} ${ARGN} > ${made}
      DEPENDS ${tool} VERBATIM)
    list(APPEND files ${made})
  endmacro()
  gantry_shell_file(bash-completion/completions/${tool} completion bash)
  gantry_shell_file(zsh/site-functions/_${tool} completion zsh)
  gantry_shell_file(fish/vendor_completions.d/${tool}.fish completion fish)
  gantry_shell_file(man/man1/${tool}.1 man)
  set(commands ${ARGN})
  foreach(command IN LISTS commands)
    gantry_shell_file(man/man1/${tool}-${command}.1 man ${command})
  endforeach()
  add_custom_target(${tool}-shell-files ALL DEPENDS ${files})
endfunction()
