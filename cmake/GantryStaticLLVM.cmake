# GANTRY_STATIC_LLVM=COMPILER or ON: a compiler that needs no libLLVM and no libMLIR, which opens in 5 ms
# instead of 40 and can be carried to machines without Debian's LLVM packages. Gives GantryStaticLLVM and
# GantryStaticMLIR what to link.
#
# In Debian's packages the static MLIR archives name the shared libraries as what they need; both
# together would register every option and pass twice. So those names are taken out of the imported
# targets, and LLVM's archives are named instead. An archive gives only the objects that somebody
# asks for, which makes lib/Pipeline/RegistrationStatic.cpp decide the size: it lists what the
# pipelines use, where registerAllDialects() would ask for everything.

set(GANTRY_STATIC_TARGETS X86 AArch64 NVPTX CACHE STRING "Code generators in a statically linked compiler")

add_library(GantryStaticLLVM INTERFACE)
add_library(GantryStaticMLIR INTERFACE)
get_property(mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(lib ${mlir_libs})
  if(NOT TARGET ${lib})
    continue()
  endif()
  get_target_property(needs ${lib} INTERFACE_LINK_LIBRARIES)
  if(needs)
    list(FILTER needs EXCLUDE REGEX "^(\\$<LINK_ONLY:)?(LLVM|MLIR)>?$")
    set_property(TARGET ${lib} PROPERTY INTERFACE_LINK_LIBRARIES "${needs}")
  endif()
  # mlir_* are run-time libraries of generated code; the rest left out is for tests and other tools.
  get_target_property(type ${lib} TYPE)
  if(type STREQUAL STATIC_LIBRARY AND NOT lib MATCHES "^mlir_|CAPI|Test|JitRunner|TableGen|TblgenLib|SparseTensorRuntime")
    target_link_libraries(GantryStaticMLIR INTERFACE ${lib})
  endif()
endforeach()

llvm_map_components_to_libnames(llvm_libs ${GANTRY_STATIC_TARGETS} AsmParser BitReader BitWriter
  DTLTO FrontendOpenMP FrontendOffloading IRReader Linker LTO MC Object Option Passes Support Target TargetParser
  TransformUtils ipo)

# lld brings LLVM's link-time optimisation, which kernels do not use; it initialises every target that
# LLVM was configured with, and Polly, a package of its own. What is left out here becomes functions
# that do nothing.
set_property(TARGET LLVMExtensions PROPERTY INTERFACE_LINK_LIBRARIES LLVMSupport)
set(left_out ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM left_out ${GANTRY_STATIC_TARGETS})
string(CONCAT stubs "// What lld calls to initialise parts of LLVM that this compiler is built without.\n"
  "#include \"llvm/Plugins/PassPlugin.h\"\n"
  "llvm::PassPluginLibraryInfo getPollyPluginInfo();\n"
  "llvm::PassPluginLibraryInfo getPollyPluginInfo() {\n"
  "  return {LLVM_PLUGIN_API_VERSION, \"\", \"\", [](llvm::PassBuilder &) {}, nullptr};\n}\n"
  "extern \"C\" {\n")
foreach(target ${left_out})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
    string(APPEND stubs "void LLVMInitialize${target}${part}(void) {}\n")
  endforeach()
endforeach()
string(APPEND stubs "}\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/static/LeftOut.cpp CONTENT "${stubs}" @ONLY)
add_library(GantryLeftOut STATIC ${PROJECT_BINARY_DIR}/static/LeftOut.cpp)
target_include_directories(GantryLeftOut SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_options(GantryLeftOut PRIVATE -fno-exceptions -fno-rtti)

# Never --icf with these archives (hundreds of warnings); --as-needed drops libz3, which has no archive.
target_link_libraries(GantryStaticLLVM INTERFACE ${llvm_libs} GantryLeftOut)
target_link_libraries(GantryStaticMLIR INTERFACE GantryStaticLLVM)
target_link_options(GantryStaticLLVM INTERFACE -Wl,--as-needed)
