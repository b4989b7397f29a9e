# Compilers, warnings, sanitizers, ccache, lld and Python: what every target shares.

find_program(GANTRY_CCACHE ccache)
if(GANTRY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${GANTRY_CCACHE})
  # clang writes the build time into a precompiled header unless told not to, and ccache needs to
  # be told that a header's defines are part of it. What the compiler lists as read is what ccache looks
  # at (depend mode): without that it preprocesses each file first, which costs as much as parsing it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${GANTRY_CCACHE})
endif()

# clang-22 finds its own lld; g++ has to be pointed at it, or it takes the PATH's older one.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-B/usr/lib/llvm-22/bin)
endif()
add_link_options(-fuse-ld=lld -Wl,--gc-sections)
add_compile_options(-ffunction-sections -fdata-sections -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wno-nested-anon-types)
  # libstdc++ 12 deprecates what its own stable_sort uses.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in every "text" + std::string (GCC bug 105651).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

if(GANTRY_SANITIZE)
  add_compile_options(-fsanitize=${GANTRY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GANTRY_SANITIZE})
  # libMLIR is not instrumented and has no type information for vptr checks.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
  if(GANTRY_SANITIZE MATCHES address)
    # Every program starts with the options that go with uninstrumented libraries.
    add_library(GantrySanitizerOptions OBJECT ${CMAKE_CURRENT_LIST_DIR}/SanitizerOptions.c)
    link_libraries($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:GantrySanitizerOptions>>)
  endif()
endif()

find_package(Threads REQUIRED)

# Debian's, for which install_deps.sh has packages.
find_program(GANTRY_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(GANTRY_PYTHON NAMES python3 REQUIRED)
