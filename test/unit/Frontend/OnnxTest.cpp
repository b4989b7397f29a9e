// The ONNX importer on models written here: shapes, names, control flow, and every way in which a
// file can be wrong. Numbers are compared end to end, in test/e2e.

#include "ModelWriter.h"
#include "TemporaryFolder.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Frontend/Frontend.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace gantry;
using namespace gantry::test;

namespace {

/// One import: the module, or the first error.
struct Imported {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error;

  explicit Imported(const std::string &bytes, const ImportOptions &options = {},
                    const std::string &folder = "") {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (error.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        error = diagnostic.str();
      return mlir::success();
    });
    module =
        importGraph({llvm::MemoryBuffer::getMemBufferCopy(bytes), folder + "/model.onnx", folder},
                    options, &context);
  }

  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }
  template <typename Op>
  int count() {
    int n = 0;
    module->walk([&](Op) { ++n; });
    return n;
  }
  std::string resultType(unsigned i = 0) {
    std::string text;
    llvm::raw_string_ostream(text) << function().getResultTypes()[i];
    return text;
  }
};

GraphText reluGraph(std::initializer_list<DimText> dims) {
  GraphText graph;
  graph.inputs = {valueInfo("x", Float, dims)};
  graph.outputs = {valueInfo("y", Float, dims)};
  graph.nodes = {node("Relu", {"x"}, {"y"}, {}, "act")};
  return graph;
}

std::string floats(size_t count) { return std::string(count * 4, '\1'); }

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

} // namespace

TEST(Onnx, NamesOfInputsOutputsAndNodesAreKept) {
  Imported it(model(reluGraph({2, 3})));
  ASSERT_TRUE(it.module) << it.error;
  auto function = it.function();
  EXPECT_EQ(function.getName(), "g");
  EXPECT_EQ(function.getArgAttrOfType<mlir::StringAttr>(0, kNameAttr).getValue(), "x");
  EXPECT_EQ(function.getResultAttrOfType<mlir::StringAttr>(0, kNameAttr).getValue(), "y");
  it.module->walk([](ReluOp op) {
    EXPECT_EQ(op->getAttrOfType<mlir::StringAttr>(kNameAttr).getValue(), "act");
    EXPECT_EQ(mlir::cast<mlir::NameLoc>(op->getLoc()).getName(), "act");
  });
}

TEST(Onnx, OpenDimensionsAreGivenByName) {
  EXPECT_EQ(Imported(model(reluGraph({"batch", 3})), {.dims = {{"batch", 5}}}).resultType(),
            "tensor<5x3xf32>");
  EXPECT_EQ(Imported(model(reluGraph({"?", 3})), {.dims = {{"x:0", 5}}}).resultType(),
            "tensor<5x3xf32>");
}

TEST(Onnx, OpenDimensionWithoutSizeIsAnError) {
  EXPECT_EQ(
      Imported(model(reluGraph({"batch", 3}))).error,
      "the inputs have open dimensions ('x': f32[batch,3]); give their sizes with --dim batch=N");
}

TEST(Onnx, FixedDimensionCannotBeContradicted) {
  EXPECT_EQ(Imported(model(reluGraph({2, 3})), {.dims = {{"x:0", 5}}}).error,
            "dimension 'x:0' is fixed to 2 in the file and cannot be 5");
}

TEST(Onnx, UnknownDimensionIsAnError) {
  EXPECT_EQ(Imported(model(reluGraph({"batch", 3})), {.dims = {{"batch", 5}, {"bach", 5}}}).error,
            "no open dimension is named 'bach'; open are batch");
}

TEST(Onnx, ShapeArithmeticIsFolded) {
  // Flattens [2, 3, 4] as PyTorch writes it: Shape, Gather, Unsqueeze, Concat, Reshape.
  GraphText graph;
  graph.inputs = {valueInfo("x", Float, {2, 3, 4})};
  graph.outputs = {valueInfo("y", Float, {2, 12})};
  graph.initializers = {int64Tensor("zero", {0}), int64Tensor("rest", {-1})};
  graph.nodes = {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"batch"}),
                 node("Concat", {"batch", "rest"}, {"to"}, {attribute("axis", 0)}),
                 node("Reshape", {"x", "to"}, {"y"})};
  Imported it(model(graph));
  ASSERT_TRUE(it.module) << it.error;
  EXPECT_EQ(it.resultType(), "tensor<2x12xf32>");
  EXPECT_EQ(it.count<ConstantOp>() + it.count<GatherOp>() + it.count<ConcatOp>(), 0);
}

TEST(Onnx, ShapeInputIsAskedForAndTakenAsValue) {
  GraphText graph;
  graph.inputs = {valueInfo("x", Float, {6}), valueInfo("to", Int64, {2})};
  graph.outputs = {valueInfo("y", Float, {2, 3})};
  graph.nodes = {node("Reshape", {"x", "to"}, {"y"}, {}, "r")};
  EXPECT_EQ(Imported(model(graph)).error,
            "node 'r' (Reshape of ai.onnx, opset 17): operand 1 (shape) decides a shape and must "
            "be known when "
            "compiling; it comes from input 'to', give that with --value to=VALUE");
  Imported given(model(graph), {.values = {{"to", {2}, std::vector<int64_t>{3, -1}}}});
  ASSERT_TRUE(given.module) << given.error;
  EXPECT_EQ(given.resultType(), "tensor<3x2xf32>");
  EXPECT_EQ(given.function().getNumArguments(), 1u);
}

TEST(Onnx, UnsupportedOpIsNamed) {
  GraphText graph = reluGraph({2});
  graph.nodes = {node("Frobnicate", {"x"}, {"y"}, {}, "f", "com.example")};
  EXPECT_TRUE(llvm::StringRef(Imported(model(graph)).error)
                  .starts_with("node 'f' (Frobnicate of com.example, of no declared opset): the op "
                               "is not supported"));
}

TEST(Onnx, UnknownAttributeIsNamed) {
  GraphText graph = reluGraph({2});
  graph.nodes = {node("Elu", {"x"}, {"y"}, {attribute("beta", 1)}, "e")};
  EXPECT_EQ(Imported(model(graph)).error, "node 'e' (Elu of ai.onnx, opset 17): attribute 'beta' "
                                          "is not supported in this opset; supported are "
                                          "alpha, consumed_inputs");
}

TEST(Onnx, TypeErrorsNameTheNode) {
  GraphText graph;
  graph.inputs = {valueInfo("a", Float, {2, 3}), valueInfo("b", Float, {4, 5})};
  graph.outputs = {valueInfo("y", Float, {2, 5})};
  graph.nodes = {node("MatMul", {"a", "b"}, {"y"}, {}, "fc")};
  EXPECT_EQ(Imported(model(graph)).error,
            "node 'fc' (MatMul of ai.onnx, opset 17): 'gantry.matmul' op inner dimensions "
            "differ: [2,3] and [4,5] give 3 against 4");
}

TEST(Onnx, OperandThatNobodyMakesIsAnError) {
  GraphText graph = reluGraph({2});
  graph.nodes = {node("Relu", {"z"}, {"y"}, {}, "act")};
  EXPECT_EQ(Imported(model(graph)).error,
            "node 'act' (Relu of ai.onnx, opset 17): operand 'z' is made by no node, input "
            "or initializer before this node");
}

TEST(Onnx, NodesAreImportedInTheOrderOfTheirUse) {
  GraphText graph = reluGraph({2});
  graph.nodes = {node("Relu", {"b"}, {"y"}, {}, "last"), node("Abs", {"x"}, {"a"}, {}, "first"),
                 node("Neg", {"a"}, {"b"}, {}, "between")};
  Imported imported(model(graph));
  EXPECT_EQ(imported.error, "");
  std::vector<std::string> ops;
  for (mlir::Operation &op : imported.function().getBody().front())
    ops.push_back(op.getName().getStringRef().str());
  EXPECT_EQ(ops,
            (std::vector<std::string>{"gantry.abs", "gantry.neg", "gantry.relu", "func.return"}));
}

TEST(Onnx, NodesThatWaitForEachOtherAreAnError) {
  GraphText graph = reluGraph({2});
  graph.nodes = {node("Add", {"x", "b"}, {"a"}, {}, "add"), node("Neg", {"a"}, {"b"}, {}, "neg"),
                 node("Relu", {"b"}, {"y"}, {}, "act")};
  EXPECT_EQ(Imported(model(graph)).error,
            "node 'neg' (Neg of ai.onnx, opset 17): operand 'a' is never there: the nodes form a "
            "cycle, 'add' -> 'neg' -> 'add'");
  graph.nodes = {node("Add", {"x", "y"}, {"y"}, {}, "own")};
  EXPECT_EQ(Imported(model(graph)).error,
            "node 'own' (Add of ai.onnx, opset 17): operand 'y' is never there: the nodes form a "
            "cycle, 'own' -> 'own'");
}

TEST(Onnx, CheckListsEverythingAtOnce) {
  GraphText graph = reluGraph({"n"});
  graph.nodes = {node("NonZero", {"x"}, {"a"}, {}, "nz"), node("Frobnicate", {"x"}, {"b"}, {}, "f"),
                 node("Relu", {"a"}, {"y"})};
  TemporaryFolder folder;
  writeFile(folder / "m.onnx", model(graph));
  mlir::MLIRContext context;
  auto file = openGraph(folder / "m.onnx", &context);
  ASSERT_TRUE(file);
  auto report = checkGraph(*file, {}, &context);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->issues.size(), 2u);
  EXPECT_EQ(report->issues[0].node, "nz");
  EXPECT_EQ(report->issues[1].op, "Frobnicate");
  EXPECT_EQ(report->openDims, std::vector<std::string>{"n"});
  // With the dimension given the importer itself judges; what follows a refused node is not blamed.
  report = checkGraph(*file, {.dims = {{"n", 4}}}, &context);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->issues.size(), 2u);
}

TEST(Onnx, PortsSayTypesAndDimensions) {
  GraphText graph = reluGraph({"n", 4, "?"});
  graph.inputs.push_back(valueInfo("s", StringElement, {2}));
  mlir::MLIRContext context;
  GraphFile file{llvm::MemoryBuffer::getMemBufferCopy(model(graph)), "m.onnx", ""};
  auto report = checkGraph(file, {}, &context);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->inputs.size(), 2u);
  const GraphPort &x = report->inputs[0];
  EXPECT_EQ(x.type(), "f32[n,4,?]");
  EXPECT_EQ(x.element, ElementType::f32);
  ASSERT_TRUE(x.dims);
  EXPECT_EQ((*x.dims)[1].size, 4);
  EXPECT_FALSE((*x.dims)[0].size);
  EXPECT_EQ(x.dimName(0), "n");
  EXPECT_EQ(x.dimName(2), "x:2");
  EXPECT_FALSE(report->inputs[1].element);
  EXPECT_EQ(report->inputs[1].type(), "string[2]");
}

TEST(Onnx, LocationsHoldTheBaseNameOfTheFile) {
  Imported it(model(reluGraph({2, 3})), {}, "some/folder");
  ASSERT_TRUE(it.module) << it.error;
  it.module->walk([](ReluOp op) {
    auto file = mlir::cast<mlir::NameLoc>(op->getLoc()).getChildLoc();
    EXPECT_EQ(mlir::cast<mlir::FileLineColLoc>(file).getFilename(), "model.onnx");
  });
}

TEST(Onnx, OneDecodingGivesSeveralSizesWithTheSameWeights) {
  GraphText graph = reluGraph({"n", 1024});
  graph.initializers = {tensor("w", {1024}, Float, floats(1024))};
  graph.nodes = {node("Mul", {"x", "w"}, {"y"})};
  mlir::MLIRContext context;
  GraphFile file{llvm::MemoryBuffer::getMemBufferCopy(model(graph)), "m.onnx", ""};
  GraphImporter importer(file, &context);
  EXPECT_EQ(importer.inputsToSize().front().type(), "f32[n,1024]");
  mlir::ElementsAttr weights;
  for (int64_t n : {2, 5}) {
    auto module = importer.import({.dims = {{"n", n}}});
    ASSERT_TRUE(module);
    module->walk([&](ConstantOp op) {
      EXPECT_TRUE(!weights || weights == op.getValue());
      weights = op.getValue();
    });
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    EXPECT_EQ(mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[0]).getDimSize(0), n);
  }
  EXPECT_TRUE(weights);
}

TEST(Onnx, LargeWeightsStayWhereTheyAre) {
  GraphText graph = reluGraph({1024});
  graph.initializers = {tensor("w", {1024}, Float, floats(1024))};
  graph.nodes = {node("Mul", {"x", "w"}, {"y"})};
  Imported it(model(graph));
  ASSERT_TRUE(it.module) << it.error;
  it.module->walk([](ConstantOp op) {
    EXPECT_TRUE(mlir::isa<mlir::DenseResourceElementsAttr>(op.getValue()));
  });
}

TEST(Onnx, TensorOfWrongSizeIsAnError) {
  GraphText graph = reluGraph({4});
  graph.initializers = {tensor("w", {4}, Float, floats(3))};
  graph.nodes = {node("Mul", {"x", "w"}, {"y"})};
  EXPECT_EQ(Imported(model(graph)).error, "tensor 'w': it holds 12 bytes, its type needs 16");
  graph.initializers = {tensor("w", {int64_t(1) << 40, int64_t(1) << 40}, Float, floats(3))};
  EXPECT_EQ(Imported(model(graph)).error, "tensor 'w': a tensor would be larger than 64 TiB");
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

namespace {
struct ExternalData : testing::Test {
  TemporaryFolder folder;

  Imported import(const std::string &location, const std::string &offset = "0",
                  const std::string &root = "", const std::string &from = "") {
    GraphText graph = reluGraph({4});
    graph.initializers = {externalTensor("w", {4}, location, offset)};
    graph.nodes = {node("Mul", {"x", "w"}, {"y"})};
    return Imported(model(graph), {.externalRoot = root}, folder.path() + from);
  }
};
} // namespace

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  std::filesystem::create_directory(folder / "sub");
  writeFile(folder / "sub/w.bin", floats(8));
  EXPECT_TRUE(import("sub/w.bin", "16").module);
}

TEST_F(ExternalData, MustLieInsideItsFile) {
  writeFile(folder / "w.bin", floats(8));
  EXPECT_EQ(import("w.bin", "17").error,
            "tensor 'w': external data 'w.bin': bytes 17 to 17 + 16 reach beyond the file of 32");
  EXPECT_EQ(import("w.bin", "18446744073709551615").error,
            "tensor 'w': external data 'w.bin': bytes 18446744073709551615 to 18446744073709551615 "
            "+ 16 reach beyond "
            "the file of 32");
  EXPECT_EQ(import("w.bin", "-1").error, "tensor 'w': external data: '-1' is not a valid offset");
}

TEST_F(ExternalData, NeverLeavesTheFolder) {
  for (const char *path : {"../w.bin", "/etc/hostname", "sub/../../w.bin", "", "."})
    EXPECT_EQ(import(path).error,
              "tensor 'w': external data '" + std::string(path) +
                  "' is not inside the model's folder; give a relative path without '..'");
}

TEST_F(ExternalData, NeverFollowsLinks) {
  writeFile(folder / "real.bin", floats(4));
  std::filesystem::create_symlink("real.bin", folder / "link.bin");
  std::filesystem::create_symlink("/etc", folder / "etc");
  for (const char *path : {"link.bin", "etc/hostname"})
    EXPECT_EQ(import(path).error,
              "tensor 'w': external data '" + std::string(path) +
                  "': the path goes through a link; where links may lead is said with "
                  "--external-root FOLDER");
  std::filesystem::create_hard_link(folder / "real.bin", folder / "hard.bin");
  EXPECT_EQ(import("hard.bin").error, "tensor 'w': external data 'hard.bin' has more than one hard "
                                      "link; copy the file into the model's folder");
}

// As model hubs lay out what they load: a folder of links for each revision, files in a store.
TEST_F(ExternalData, FollowsLinksThatEndBelowTheRoot) {
  const std::string root = folder / "models";
  std::filesystem::create_directories(root + "/snapshots/main");
  std::filesystem::create_directories(root + "/blobs");
  std::filesystem::create_directories(folder / "models2");
  writeFile(root + "/blobs/1234", floats(4));
  writeFile(folder / "models2/secret", floats(4));
  std::filesystem::create_symlink("../../blobs/1234", root + "/snapshots/main/w.bin");
  std::filesystem::create_symlink(root + "/blobs/1234", root + "/snapshots/main/absolute.bin");
  std::filesystem::create_symlink("../../../models2/secret", root + "/snapshots/main/out.bin");
  std::filesystem::create_symlink("../../blobs", root + "/snapshots/main/dir.bin");
  std::filesystem::create_symlink("nowhere", root + "/snapshots/main/broken.bin");
  auto imported = [&](const std::string &name) {
    return import(name, "0", root, "/models/snapshots/main").error;
  };
  EXPECT_EQ(imported("w.bin"), "");
  EXPECT_EQ(imported("absolute.bin"), "");
  EXPECT_EQ(imported("out.bin"),
            "tensor 'w': external data 'out.bin': its links lead to '" +
                std::filesystem::canonical(folder / "models2/secret").string() +
                "', which is not below --external-root '" + root + "'");
  EXPECT_EQ(imported("dir.bin"), "tensor 'w': external data 'dir.bin' is not a regular file");
  EXPECT_EQ(imported("broken.bin"),
            "tensor 'w': external data 'broken.bin': no such file in the model's folder");
  EXPECT_EQ(imported("../main/w.bin"),
            "tensor 'w': external data '../main/w.bin' is not inside the model's folder; give a "
            "relative path without '..'");
  EXPECT_EQ(import("w.bin", "0", root + "/none", "/models/snapshots/main").error,
            "tensor 'w': --external-root '" + root + "/none': No such file or directory");
}

TEST_F(ExternalData, MustBeARegularFile) {
  std::filesystem::create_directory(folder / "dir");
  EXPECT_EQ(import("dir").error, "tensor 'w': external data 'dir' is not a regular file");
  EXPECT_EQ(import("none.bin").error,
            "tensor 'w': external data 'none.bin': no such file in the model's folder");
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static Message branch(const std::string &op) {
  GraphText graph;
  graph.nodes = {node(op, {"x"}, {op + "_out"})};
  graph.outputs = {valueInfo(op + "_out", Float, {2})};
  return graph.encode();
}

static GraphText ifGraph() {
  GraphText graph;
  graph.inputs = {valueInfo("c", Bool, {}), valueInfo("x", Float, {2})};
  graph.outputs = {valueInfo("y", Float, {2})};
  graph.nodes = {node("If", {"c"}, {"y"},
                      {graphAttribute("then_branch", branch("Relu")),
                       graphAttribute("else_branch", branch("Neg"))})};
  return graph;
}

TEST(Onnx, IfKeepsBothBranches) {
  Imported it(model(ifGraph()));
  ASSERT_TRUE(it.module) << it.error;
  EXPECT_EQ(it.count<IfOp>(), 1);
  EXPECT_EQ(it.count<ReluOp>() + it.count<NegOp>(), 2);
}

TEST(Onnx, IfOfAKnownConditionKeepsOne) {
  Imported it(model(ifGraph()), {.values = {{"c", {}, std::vector<int64_t>{0}}}});
  ASSERT_TRUE(it.module) << it.error;
  EXPECT_EQ(it.count<IfOp>() + it.count<ReluOp>(), 0);
  EXPECT_EQ(it.count<NegOp>(), 1);
}

/// y = x * 2^trips, and every intermediate x when `stacks`.
static GraphText loopGraph(bool stacks) {
  GraphText body;
  body.inputs = {valueInfo("i", Int64, {}), valueInfo("go", Bool, {}), valueInfo("v", Float, {2})};
  body.nodes = {node("Identity", {"go"}, {"go_on"}), node("Add", {"v", "v"}, {"next"})};
  body.outputs = {valueInfo("go_on", Bool, {}), valueInfo("next", Float, {2})};
  if (stacks)
    body.outputs.push_back(valueInfo("next", Float, {2}));
  GraphText graph;
  graph.inputs = {valueInfo("trips", Int64, {}), valueInfo("x", Float, {2})};
  graph.outputs = {valueInfo("y", Float, {2})};
  if (stacks)
    graph.outputs.push_back(valueInfo("all", Float, {"n", 2}));
  graph.nodes = {node("Loop", {"trips", "", "x"}, stacks ? Names{"y", "all"} : Names{"y"},
                      {graphAttribute("body", body.encode())}, "l")};
  return graph;
}

TEST(Onnx, LoopBecomesWhile) {
  Imported it(model(loopGraph(false)));
  ASSERT_TRUE(it.module) << it.error;
  EXPECT_EQ(it.count<WhileOp>(), 1);
}

TEST(Onnx, LoopThatStacksResultsIsUnrolled) {
  Imported it(model(loopGraph(true)), {.values = {{"trips", {}, std::vector<int64_t>{3}}}});
  ASSERT_TRUE(it.module) << it.error;
  EXPECT_EQ(it.count<WhileOp>(), 0);
  EXPECT_EQ(it.count<AddOp>(), 3);
  EXPECT_EQ(it.resultType(1), "tensor<3x2xf32>");
  EXPECT_TRUE(
      llvm::StringRef(Imported(model(loopGraph(true))).error).contains("--value trips=VALUE"));
}

//===----------------------------------------------------------------------===//
// Broken files
//===----------------------------------------------------------------------===//

TEST(Onnx, TruncatedFilesAreErrors) {
  GraphText graph = ifGraph();
  graph.initializers = {int64Tensor("unused", {1, 2, 3})};
  std::string whole = model(graph);
  ASSERT_TRUE(Imported(whole).module);
  for (size_t size = 1; size < whole.size(); ++size) {
    Imported it(whole.substr(0, size));
    EXPECT_TRUE(it.module || !it.error.empty()) << size;
  }
}

TEST(Onnx, FlippedBitsNeverCrash) {
  std::string whole = model(ifGraph());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string broken = whole;
    broken[bit / 8] ^= char(1 << bit % 8);
    Imported it(broken);
    EXPECT_TRUE(it.module || !it.error.empty()) << bit;
  }
}

TEST(Onnx, DeeplyNestedBodiesAreRefused) {
  Message body = branch("Relu");
  for (int i = 0; i < 5000; ++i) {
    GraphText graph;
    graph.nodes = {node("If", {"c"}, {"Relu_out"}, {graphAttribute("then_branch", body)})};
    body = graph.encode();
  }
  GraphText graph = ifGraph();
  graph.nodes = {node("If", {"c"}, {"y"}, {graphAttribute("then_branch", body)})};
  EXPECT_TRUE(llvm::StringRef(Imported(model(graph)).error)
                  .contains("messages are nested more than 64 deep"));
}

TEST(Onnx, EmptyFileIsAnError) {
  EXPECT_EQ(Imported("").error, "the file is empty; expected an ONNX model or a graph in MLIR");
}

TEST(Onnx, AbsentFileIsAnError) {
  mlir::MLIRContext context;
  std::string error;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    error = diagnostic.str();
    return mlir::success();
  });
  EXPECT_FALSE(openGraph("absent.onnx", &context));
  EXPECT_EQ(error, "cannot open 'absent.onnx': no such file or folder");
}
