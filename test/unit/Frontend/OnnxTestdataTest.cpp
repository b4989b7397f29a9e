// Imports every model of ONNX's own test data (Debian's libonnx-testdata): each becomes a module
// that verifies, or is refused with a message that says what is not supported or what has to be
// given. What the modules compute is compared in test/e2e/onnx_suite.py.

#include "ONNX/Tensors.h"

#include "gantry/Frontend/Frontend.h"

#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace gantry;
namespace fs = std::filesystem;

static const fs::path kData = "/usr/share/libonnx-testdata/data";
/// Fewer than these means that something was lost.
static constexpr int kLeastImported = 990;

/// The test's own value for an input that decides shapes.
static std::optional<InputValue> valueOf(const fs::path &model, const GraphReport &report,
                                         const std::string &name, mlir::MLIRContext &context) {
  size_t index = 0;
  while (index < report.inputs.size() && report.inputs[index].name != name)
    ++index;
  fs::path file =
      model.parent_path() / "test_data_set_0" / ("input_" + std::to_string(index) + ".pb");
  auto buffer = llvm::MemoryBuffer::getFile(file.string());
  onnx::Tensor tensor;
  std::string error;
  if (!buffer || !onnx::decodeTensor((*buffer)->getBuffer(), tensor, error))
    return std::nullopt;
  onnx::TensorReader reader(std::move(*buffer), "", &context);
  auto attr = reader.read(tensor);
  if (!attr)
    return std::nullopt;
  auto elements = readElements(*attr);
  InputValue value{name, {tensor.dims.begin(), tensor.dims.end()}, elements->ints};
  if (elements->isFloat)
    value.elements = elements->floats;
  return value;
}

TEST(OnnxTestdata, EveryModelIsImportedOrClearlyRefused) {
  if (!fs::is_directory(kData))
    GTEST_SKIP() << "no " << kData << " (Debian's libonnx-testdata)";
  int imported = 0, models = 0;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(kData)) {
    if (entry.path().filename() != "model.onnx")
      continue;
    ++models;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return mlir::success();
    });
    ImportOptions options;
    auto file = openGraph(entry.path().string(), &context);
    ASSERT_TRUE(file) << entry.path() << ": " << message;
    auto report = checkGraph(*file, options, &context);
    ASSERT_TRUE(report) << entry.path() << ": " << message;
    for (const std::string &name : report->shapeInputs)
      if (auto value = valueOf(entry.path(), *report, name, context))
        options.values.push_back(*value);
    message.clear();
    if (importGraph(*file, options, &context))
      ++imported;
    else
      EXPECT_TRUE(llvm::StringRef(message).contains("not supported") ||
                  llvm::StringRef(message).contains("depends on data") ||
                  llvm::StringRef(message).contains("--dim"))
          << entry.path() << ": " << message;
  }
  std::printf("imported %d of %d models\n", imported, models);
  EXPECT_GE(imported, kLeastImported);
}
