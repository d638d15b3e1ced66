# Turns cargo's libfzgm.a (IN) into the one that is installed (OUT).
#
# A Rust static library carries the Rust runtime with global names. Two of them in one program, ours and that of some other
# library, fail to link ("multiple definition of rust_eh_personality"). So the archive is linked into one relocatable object
# in which only the functions of the header stay global. The tools for that differ between systems, and some of them fail
# on the bitcode that rustc leaves in its archives; what they made is therefore checked, and when no way leads to a good
# object, the archive is installed as it is, with a message: it is complete, it only cannot share a program.

function(plain reason)
  message(STATUS "libfzgm.a is installed as cargo made it (${reason}); it cannot be linked beside another Rust static library")
  configure_file(${IN} ${OUT} COPYONLY)
endfunction()

if(NOT LOCALISE)
  plain("FZGM_LOCALISE_STATIC is off")
  return()
endif()

# The names to keep: every function that the header declares. Declarations start a line, comments never start with a letter.
file(STRINGS ${HEADER} names REGEX "^[A-Za-z][^(]*fz_[a-z0-9_]+\\(")
list(TRANSFORM names REPLACE "^[^(]*(fz_[a-z0-9_]+)\\(.*" "\\1")
list(REMOVE_DUPLICATES names)
list(SORT names)
get_filename_component(dir ${OUT} DIRECTORY)
string(REPLACE ";" "\n" lines "${names}")
file(WRITE ${dir}/exports.txt "${lines}\n")

# Only what the exported functions need is taken. Group sections are resolved here, as their signatures turn local; a linker
# without these options is tried again without them.
set(undefined "")
foreach(name IN LISTS names)
  list(APPEND undefined -Wl,-u,${name})
endforeach()
foreach(tidy -Wl,--gc-sections,--force-group-allocation "")
  execute_process(COMMAND ${CC} -r -nostdlib ${tidy} ${undefined} ${IN} -o ${dir}/all.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  if(NOT failed)
    break()
  endif()
endforeach()
if(failed)
  plain("the compiler cannot make a relocatable object: ${why}")
  return()
endif()

# rustc's own objcopy reads rustc's bitcode; it may need the LLVM library that lies beside rustc.
set(rustc $ENV{RUSTC})
if(NOT rustc)
  set(rustc rustc)
endif()
execute_process(COMMAND ${rustc} --print sysroot OUTPUT_VARIABLE sysroot OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(GLOB tools ${sysroot}/lib/rustlib/*/bin/rust-objcopy)
find_program(LLVM_OBJCOPY NAMES llvm-objcopy rust-objcopy)
find_program(OBJCOPY NAMES objcopy)
foreach(tool IN LISTS tools ITEMS ${LLVM_OBJCOPY} ${OBJCOPY})
  if(NOT EXISTS "${tool}")
    continue()
  endif()
  file(REMOVE ${dir}/fzgm.o ${OUT})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${sysroot}/lib:$ENV{LD_LIBRARY_PATH}
            ${tool} --keep-global-symbols=${dir}/exports.txt --remove-section=.llvmbc --remove-section=.llvmcmd
            --strip-debug ${dir}/all.o ${dir}/fzgm.o
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    continue()
  endif()
  execute_process(COMMAND ${AR} qcs ${OUT} ${dir}/fzgm.o RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${NM} -g --defined-only ${OUT} RESULT_VARIABLE failed2 OUTPUT_VARIABLE table ERROR_QUIET)
  string(REGEX MATCHALL " [A-Z] [^\n]+" rows "${table}")
  list(TRANSFORM rows REPLACE "^ [A-Z] " "")
  list(SORT rows)
  if(NOT failed AND NOT failed2 AND rows STREQUAL names)
    list(LENGTH names count)
    get_filename_component(tool ${tool} NAME)
    message(STATUS "libfzgm.a: ${count} global names, all fz_* (by ${tool})")
    return()
  endif()
endforeach()
plain("no objcopy on this system could hide the inner names")
