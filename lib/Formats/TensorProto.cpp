// ONNX's TensorProto as an array: the form of ONNX's test data.
#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Formats/ONNX/Model.h"

#include <cstring>

namespace gantry::arrays {

Expected<NamedArray> parseTensorProto(ByteSpan bytes, std::string_view file) {
  const std::string quoted = "'" + std::string(file) + "'";
  onnx::Tensor tensor;
  std::string error;
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!onnx::decodeTensor(text, tensor, error) || tensor.dims.size() > maxRank)
    return Status::corrupt(quoted + " is neither a .npy or .npz file nor an ONNX TensorProto");
  const auto element = onnx::elementTypeOf(tensor.type);
  if (!element)
    return Status::unsupported(quoted + " has the ONNX element type " +
                               std::to_string(int32_t(tensor.type)) +
                               ", which has no counterpart (strings, complex numbers and 8-bit "
                               "floats are not supported)");
  if (tensor.isExternal)
    return Status::unsupported(quoted +
                               " keeps its elements in another file; expected them inside");
  std::vector<char> packed;
  if (!tensor.hasRaw)
    packed = onnx::packTypedElements(tensor, elementTypeSize(*element));
  const std::string_view held =
      tensor.hasRaw ? tensor.raw : std::string_view(packed.data(), packed.size());
  if (tensorByteSize(*element, tensor.dims) != held.size())
    return Status::corrupt(quoted + " holds " + std::to_string(held.size()) +
                           " bytes of elements, which do not fit its type " +
                           tensorTypeName(*element, tensor.dims) +
                           "; expected a tensor, not a sequence or an optional");
  auto array = Array::make(*element, std::move(tensor.dims));
  if (!array)
    return array.status();
  if (!held.empty())
    std::memcpy(array->bytes.data(), held.data(), held.size());
  normaliseBooleans(*array);
  return NamedArray{std::string(tensor.name), array.take()};
}

} // namespace gantry::arrays
