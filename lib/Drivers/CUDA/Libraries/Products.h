// Products of matrices by cuBLASLt: kernels whose symbol is a plan::MatrixProduct.
//
// The algorithm of each is chosen when its plan is loaded, of those that the library's heuristic
// has for the product (ChooseAlgorithm.h), within the workspace that the plan has for it and for
// addresses as a plan aligns them. Its bytes are kept, so that every run and every graph has the
// same. A run allocates nothing: descriptions are made at load, and the workspace is the launch's
// scratch buffer.
#pragma once

#include "CUDA/Code.h"
#include "CublasLt.h"
#include "gantry/Plan/MatrixProduct.h"

namespace gantry::runtime::cuda {

/// Thread-safe. The library outlives it.
class Products final : public CodeObject {
public:
  /// A handle of the library on the card; makes its context.
  static Expected<std::unique_ptr<CodeObject>> open(const cublaslt::CublasLt &library,
                                                    PhysicalGPU &gpu);

  Products(const cublaslt::CublasLt &library, std::shared_ptr<Context> context,
           cublaslt::Handle handle)
      : library(library), context(std::move(context)), handle(handle) {}
  ~Products() override;

  /// CORRUPT when the symbol is no product, UNSUPPORTED when the library has no algorithm for it.
  Expected<KernelHandle> lookup(const std::string &symbol, const Geometry &geometry) override;

private:
  const cublaslt::CublasLt &library;
  std::shared_ptr<Context> context;
  cublaslt::Handle handle;
  std::mutex mutex;
  std::vector<std::unique_ptr<LibraryKernel>> products;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

} // namespace gantry::runtime::cuda
