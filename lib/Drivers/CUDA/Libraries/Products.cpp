#include "Products.h"

#include "ChooseAlgorithm.h"

#include "gantry/Support/Bytes.h"

namespace gantry::runtime::cuda {

using namespace cublaslt;
using plan::MatrixProduct;
using plan::StoredMatrix;

namespace {

/// The library wants its workspace at a multiple of that; buffers of plans are at 64.
constexpr uint64_t workspaceAlignment = 256;

DataType typeOf(ElementType type) {
  return type == ElementType::f16    ? DataType::f16
         : type == ElementType::bf16 ? DataType::bf16
                                     : DataType::f32;
}

/// What goes when it is destroyed: layouts, descriptions and preferences.
template <typename Handle>
class Owned {
public:
  Owned() = default;
  Owned(const Owned &) = delete;
  ~Owned() {
    if (handle)
      (void)destroy(handle);
  }
  Handle *make(cublaslt::Result (*how)(Handle)) {
    destroy = how;
    return &handle;
  }
  operator Handle() const { return handle; }

private:
  Handle handle = nullptr;
  cublaslt::Result (*destroy)(Handle) = nullptr;
};

/// One product. The library stores matrices column by column, so that a matrix stored row by row is
/// to it the transposed one: it is asked for the transposed result, right * left.
class Product final : public LibraryKernel {
public:
  Product(const CublasLt &library, Handle handle, const MatrixProduct &product,
          uint64_t scratchBytes)
      : library(library), handle(handle), product(product),
        workspaceBytes(scratchBytes - std::min(scratchBytes, workspaceAlignment)),
        hasScratch(scratchBytes != 0) {}

  Status prepare(Context &context) {
    GANTRY_RETURN_IF_ERROR(
        describe(context, a, product.type, product.right, product.columns, product.terms));
    GANTRY_RETURN_IF_ERROR(
        describe(context, b, product.type, product.left, product.terms, product.rows));
    GANTRY_RETURN_IF_ERROR(
        describe(context, d, product.resultType(), product.result, product.columns, product.rows));
    GANTRY_RETURN_IF_ERROR(GANTRY_CUBLASLT_IN(
        library, context, createProduct, description.make(library.destroyProduct),
        product.isTF32 ? ComputeType::tf32 : ComputeType::f32, DataType::f32));
    GANTRY_RETURN_IF_ERROR(turn(context, ProductAttribute::transposeA, product.right.isTurned));
    GANTRY_RETURN_IF_ERROR(turn(context, ProductAttribute::transposeB, product.left.isTurned));
    return choose(context);
  }

  Status launch(Context &context, StreamHandle stream, void *const *buffers,
                uint32_t count) const override {
    constexpr float one = 1, zero = 0;
    auto *scratch = hasScratch ? static_cast<uint8_t *>(buffers[count - 1]) : nullptr;
    void *workspace =
        reinterpret_cast<void *>(alignTo(reinterpret_cast<uint64_t>(scratch), workspaceAlignment));
    void *result = buffers[product.result.buffer];
    return afterCapture(
        context, stream,
        GANTRY_CUBLASLT_IN(library, context, multiply, handle, description, &one,
                           buffers[product.right.buffer], a, buffers[product.left.buffer], b, &zero,
                           result, d, result, d, &algorithm, workspace, workspaceBytes, stream));
  }

private:
  /// `rows` and `columns` as the library sees the matrix; one that is turned is stored the other
  /// way.
  Status describe(Context &context, Owned<Layout> &layout, ElementType type,
                  const StoredMatrix &matrix, uint64_t rows, uint64_t columns) {
    if (matrix.isTurned)
      std::swap(rows, columns);
    GANTRY_RETURN_IF_ERROR(GANTRY_CUBLASLT_IN(library, context, createLayout,
                                              layout.make(library.destroyLayout), typeOf(type),
                                              rows, columns, static_cast<int64_t>(matrix.line)));
    if (product.batch == 1)
      return {};
    const auto count = static_cast<int32_t>(product.batch);
    const auto stride = static_cast<int64_t>(matrix.stride);
    GANTRY_RETURN_IF_ERROR(GANTRY_CUBLASLT_IN(library, context, setLayout, layout,
                                              LayoutAttribute::batchCount, &count, sizeof count));
    return GANTRY_CUBLASLT_IN(library, context, setLayout, layout, LayoutAttribute::batchStride,
                              &stride, sizeof stride);
  }

  Status turn(Context &context, ProductAttribute side, bool isTurned) {
    const Operation operation = isTurned ? Operation::transpose : Operation::none;
    return GANTRY_CUBLASLT_IN(library, context, setProduct, description, side, &operation,
                              sizeof operation);
  }

  /// Of the algorithms that add up in an order of their own, whoever runs when: see
  /// chooseAlgorithm.
  Status choose(Context &context) {
    Owned<Preference> preference;
    GANTRY_RETURN_IF_ERROR(GANTRY_CUBLASLT_IN(library, context, createPreference,
                                              preference.make(library.destroyPreference)));
    auto set = [&](PreferenceAttribute attribute, auto value) {
      return GANTRY_CUBLASLT_IN(library, context, setPreference, preference, attribute, &value,
                                sizeof value);
    };
    GANTRY_RETURN_IF_ERROR(set(PreferenceAttribute::workspaceBytes, workspaceBytes));
    GANTRY_RETURN_IF_ERROR(
        set(PreferenceAttribute::reductionSchemes, uint32_t(cublaslt::flags::reduceInOrder)));
    for (auto side : {PreferenceAttribute::alignmentA, PreferenceAttribute::alignmentB,
                      PreferenceAttribute::alignmentC, PreferenceAttribute::alignmentD})
      GANTRY_RETURN_IF_ERROR(set(side, uint32_t(bufferAlignment)));
    std::array<Heuristic, mostSuggestions> found;
    int count = 0;
    GANTRY_RETURN_IF_ERROR(GANTRY_CUBLASLT_IN(library, context, findAlgorithms, handle, description,
                                              a, b, d, d, preference, mostSuggestions, found.data(),
                                              &count));
    const auto suggested =
        std::span(found).first(static_cast<size_t>(std::clamp(count, 0, mostSuggestions)));
    const std::optional<size_t> chosen = chooseAlgorithm(
        suggested, 2 * product.batch * product.rows * product.columns * product.terms);
    if (!chosen)
      return Status::unsupported(
          "cuBLASLt " + versionText(library.version) + " has no algorithm for '" + product.text() +
          "' on " + context.gpu().name() + (suggested.empty() ? "" : " that keeps it busy"));
    algorithm = found[*chosen].algorithm;
    return {};
  }

  const CublasLt &library;
  Handle handle;
  MatrixProduct product;
  uint64_t workspaceBytes;
  bool hasScratch;
  Owned<Layout> a, b, d;
  Owned<ProductDescription> description;
  Algorithm algorithm;
};

} // namespace

Expected<std::unique_ptr<CodeObject>> Products::open(const CublasLt &library, PhysicalGPU &gpu) {
  Expected<std::shared_ptr<Context>> context = gpu.context();
  if (!context)
    return context.status();
  CurrentContext current(**context);
  GANTRY_RETURN_IF_ERROR(current.status());
  Handle handle = nullptr;
  GANTRY_RETURN_IF_ERROR(GANTRY_CUBLASLT_IN(library, **context, create, &handle));
  return std::unique_ptr<CodeObject>(std::make_unique<Products>(library, context.take(), handle));
}

Products::~Products() {
  CurrentContext current(*context, CurrentContext::For::release);
  products.clear();
  if (!wasForked()) // what it holds on the host is there also when the context is lost
    (void)library.destroy(handle);
}

Expected<KernelHandle> Products::lookup(const std::string &symbol, const Geometry &geometry) {
  Expected<MatrixProduct> read = MatrixProduct::parse(symbol);
  if (!read)
    return read.status();
  CurrentContext current(*context);
  GANTRY_RETURN_IF_ERROR(current.status());
  auto product = std::make_unique<Product>(library, handle, *read, geometry.scratchBytes);
  GANTRY_RETURN_IF_ERROR(product->prepare(*context));
  std::lock_guard lock(mutex);
  kernels.push_back(std::make_unique<Kernel>(Kernel{nullptr, geometry, product.get()}));
  products.push_back(std::move(product));
  return static_cast<KernelHandle>(kernels.back().get());
}

} // namespace gantry::runtime::cuda
