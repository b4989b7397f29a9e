// The C API's files of tensors: what Formats and Runtime have, behind handles.
#include "Handles.h"
#include "Info.h"

#include "gantry/Runtime/StateFile.h"

using namespace gantry;
using namespace gantry::capi;
using namespace gantry::runtime;

struct gantry_tensor_file_t {
  arrays::SafetensorsFile file;
  std::string metadata;
};

static const char *textOf(const char *given) { return given ? given : ""; }

gantry_status_t gantry_state_save(const gantry_state_t *state, const char *path,
                                  const char *metadata_json) {
  GANTRY_NEED(state && path);
  Expected<arrays::Metadata> metadata = arrays::parseMetadata(textOf(metadata_json));
  return finish(metadata ? saveState(*state->object, path, *metadata) : metadata.status());
}

gantry_status_t gantry_state_load(gantry_state_t *state, const char *path, const char *names_json,
                                  uint32_t flags) {
  GANTRY_NEED(state && path);
  constexpr uint32_t known = GANTRY_STATE_LOAD_KEEP_MISSING | GANTRY_STATE_LOAD_SKIP_UNKNOWN;
  if (flags & ~known)
    return finish(Status::invalidArgument("gantry_state_load: flags are " + std::to_string(flags) +
                                          ", which are none of gantry_state_load_t"));
  Expected<arrays::TensorNames> names = arrays::parseTensorNames(textOf(names_json));
  if (!names)
    return finish(names.status());
  return finish(loadState(*state->object, path,
                          {names.take(), (flags & GANTRY_STATE_LOAD_KEEP_MISSING) != 0,
                           (flags & GANTRY_STATE_LOAD_SKIP_UNKNOWN) != 0}));
}

gantry_status_t gantry_tensor_file_load(const char *path, gantry_tensor_file_t **file) {
  clear(file);
  GANTRY_NEED(path && file);
  Expected<arrays::SafetensorsFile> opened = arrays::SafetensorsFile::open(path);
  if (!opened)
    return finish(opened.status());
  std::string metadata = arrays::metadataText(opened->content().metadata());
  *file = new gantry_tensor_file_t{opened.take(), std::move(metadata)};
  return GANTRY_OK;
}

void gantry_tensor_file_destroy(gantry_tensor_file_t *file) { delete file; }

size_t gantry_tensor_file_num_tensors(const gantry_tensor_file_t *file) {
  return file ? file->file.content().tensors().size() : 0;
}

gantry_status_t gantry_tensor_file_tensor(const gantry_tensor_file_t *file, size_t index,
                                          gantry_value_t *tensor) {
  GANTRY_NEED(file && tensor);
  const auto tensors = file->file.content().tensors();
  if (index >= tensors.size())
    return noSuch("tensor", index, tensors.size());
  const arrays::Safetensors::Tensor &found = tensors[index];
  *tensor = {found.name.c_str(), static_cast<gantry_element_type_t>(found.element),
             static_cast<uint32_t>(found.shape.size()), found.shape.data(),
             const_cast<uint8_t *>(found.bytes.data())};
  return GANTRY_OK;
}

const char *gantry_tensor_file_metadata(const gantry_tensor_file_t *file) {
  return file ? file->metadata.c_str() : nullptr;
}

/// The tensors as arrays, over types that are kept in `types`.
static Status borrowAll(const gantry_value_t *tensors, size_t count, std::vector<TensorType> &types,
                        std::vector<NamedView> &views) {
  types.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const gantry_value_t &tensor = tensors[i];
    if (!tensor.name)
      return Status::invalidArgument("tensor " + std::to_string(i) + " has no name");
    Expected<TensorType> type = readType(tensor.element, tensor.dims, tensor.rank);
    const std::string what = "tensor '" + std::string(tensor.name) + "': ";
    if (!type)
      return Status(type.status().code(), what + type.status().message());
    if (!tensorByteSize(type->element, type->shape))
      return Status::invalidArgument(what + "the shape " + type->str() + " is out of range");
    if (!tensor.data && type->byteSize() != 0)
      return Status::invalidArgument(what + "the data is a null pointer");
    types.push_back(type.take());
    views.emplace_back(tensor.name, arrays::ArrayView{types.back().element, types.back().shape,
                                                      static_cast<const uint8_t *>(tensor.data)});
  }
  return {};
}

gantry_status_t gantry_tensor_file_save(const char *path, const gantry_value_t *tensors,
                                        size_t count, const char *metadata_json) {
  GANTRY_NEED(path && (tensors || count == 0));
  Expected<arrays::Metadata> metadata = arrays::parseMetadata(textOf(metadata_json));
  if (!metadata)
    return finish(metadata.status());
  std::vector<TensorType> types;
  std::vector<NamedView> views;
  if (Status status = borrowAll(tensors, count, types, views); !status.ok())
    return finish(status);
  return finish(arrays::writeSafetensors(path, views, *metadata));
}
