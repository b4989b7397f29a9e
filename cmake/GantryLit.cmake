# Everything under test/ that is not a compiled program: the lit suite's configuration, and the
# locks (scripts of tools/dev that hold a rule of the house), which are ctest tests.
#
# lit runs from tools/dev/run_tests.py (make test); for one's own runs there is the target check-lit.

set(GANTRY_LLVM_TOOLS_DIR ${LLVM_TOOLS_BINARY_DIR})
if(NOT GANTRY_LLVM_TOOLS_DIR)
  set(GANTRY_LLVM_TOOLS_DIR /usr/lib/llvm-22/bin)
endif()

if(GANTRY_BUILD_COMPILER)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/lit.site.cfg.py.in
                 ${CMAKE_CURRENT_BINARY_DIR}/lit.site.cfg.py @ONLY)
  add_custom_target(check-lit
    COMMAND ${GANTRY_LLVM_TOOLS_DIR}/lit -sv -j2 ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "lit" USES_TERMINAL)
  add_dependencies(check-lit gantry gantry-opt gantry-reduce gantry-lsp-server gantry-compiler)
endif()

# gantry_add_lock(NAME COMMAND ...): a rule of the house as a test; exit status 77 is a skip.
function(gantry_add_lock name)
  add_test(NAME lock.${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(lock.${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS lock)
endfunction()

set(dev ${PROJECT_SOURCE_DIR}/tools/dev)
gantry_add_lock(layers ${GANTRY_PYTHON} ${dev}/check_layers.py)
gantry_add_lock(homes ${GANTRY_PYTHON} ${dev}/check_homes.py)
gantry_add_lock(pass-tests ${GANTRY_PYTHON} ${dev}/check_pass_tests.py)
gantry_add_lock(docs ${GANTRY_PYTHON} ${dev}/check_docs.py --build-dir ${PROJECT_BINARY_DIR})
if(GANTRY_BUILD_COMPILER)
  gantry_add_lock(examples ${GANTRY_PYTHON} ${dev}/check_examples.py --build-dir ${PROJECT_BINARY_DIR})
endif()
gantry_add_lock(dev-scripts ${GANTRY_PYTHON} -m unittest discover -s ${dev}/tests -p "*_test.py")
if(NOT GANTRY_SANITIZE)
  gantry_add_lock(elf ${GANTRY_PYTHON} ${dev}/check_elf.py --build-dir ${PROJECT_BINARY_DIR})
  gantry_add_lock(install ${CMAKE_CURRENT_SOURCE_DIR}/install/run.sh
                  ${PROJECT_BINARY_DIR} ${CMAKE_COMMAND} ${CMAKE_C_COMPILER})
  set_tests_properties(lock.install PROPERTIES RUN_SERIAL TRUE)
endif()

# PTX of nvcc in the interpreter; the tool needs no compiler of ours.
add_test(NAME e2e.ptx COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/ptx_nvcc_test.py
         --build-dir ${PROJECT_BINARY_DIR})
set_tests_properties(e2e.ptx PROPERTIES SKIP_RETURN_CODE 77)

add_test(NAME e2e.memplan COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/memplan_test.py
         ${PROJECT_BINARY_DIR})

# The end-to-end runners' own harness; the runners themselves are called by run_tests.py.
add_test(NAME e2e.workers COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/workers_test.py)
add_test(NAME e2e.references COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/references_test.py)
set_tests_properties(e2e.references PROPERTIES SKIP_RETURN_CODE 77)
if(GANTRY_BUILD_COMPILER AND NOT GANTRY_SANITIZE)
  # With sanitizers memory is not what it measures.
  # What ptxas makes of the kernels: says "skipped: …" where it is not installed.
  add_test(NAME e2e.ptxas COMMAND ${GANTRY_PYTHON} ${dev}/ptxas_table.py --build-dir ${PROJECT_BINARY_DIR}
           ${PROJECT_SOURCE_DIR}/examples/digits/digits.onnx ${CMAKE_CURRENT_SOURCE_DIR}/Target/CUDA/modules.mlir)
  set_tests_properties(e2e.ptxas PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
  # What is meant for a machine with a GPU, on the fake: one op of the kernel table and some products.
  add_test(NAME e2e.gpu-check COMMAND ${dev}/gpu_check.sh --rehearse --stage=bits --build ${PROJECT_BINARY_DIR}
           --ops relu --products 8 --parts none)
  set_tests_properties(e2e.gpu-check PROPERTIES ENVIRONMENT
    "PYTHON=${GANTRY_PYTHON};GPU_CHECK_BUNDLE=${PROJECT_BINARY_DIR}/gpu-check-test;OUT=${PROJECT_BINARY_DIR}/gpu-check-test/out")
  add_test(NAME e2e.tool COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/tool_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.tool PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.libraries COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/libraries_test.py ${PROJECT_BINARY_DIR})
  add_test(NAME e2e.products-by-library
           COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/products_by_library_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.products-by-library PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.transports COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/transports_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.transports PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.interrupt COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/interrupt_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.interrupt PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.examples COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/examples_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.examples PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.steps COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/steps_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.steps PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.check-indices COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/check_indices_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.check-indices PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.placement-emulated COMMAND ${CMAKE_COMMAND} -E env GANTRY_TEST_EMULATE=all
    ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/placement_test.py ${PROJECT_BINARY_DIR})
  add_test(NAME e2e.placement COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/placement_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.placement e2e.placement-emulated PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME e2e.random-graphs COMMAND ${GANTRY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/random_graphs_test.py ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e.random-graphs PROPERTIES SKIP_RETURN_CODE 77)
endif()
