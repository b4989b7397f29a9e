// A header is an object of {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} by name, and
// of texts under "__metadata__". All that it says is held against the bytes before anyone sees it.
#include "gantry/Formats/Safetensors.h"

#include "JSONCursor.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"
#include "gantry/Support/UTF8.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

namespace gantry::arrays {

namespace {

constexpr std::string_view metadataKey = "__metadata__";
constexpr uint64_t lengthSize = 8;

struct TypeName {
  std::string_view name;
  ElementType element;
};
constexpr TypeName typeNames[] = {
    {"BOOL", ElementType::i1}, {"U8", ElementType::u8},     {"I8", ElementType::i8},
    {"U16", ElementType::u16}, {"I16", ElementType::i16},   {"F16", ElementType::f16},
    {"U32", ElementType::u32}, {"BF16", ElementType::bf16}, {"I32", ElementType::i32},
    {"F32", ElementType::f32}, {"U64", ElementType::u64},   {"I64", ElementType::i64},
    {"F64", ElementType::f64}};

std::string_view nameOf(ElementType element) {
  for (const TypeName &known : typeNames)
    if (known.element == element)
      return known.name;
  return {};
}

/// What the header says of a tensor.
struct Described {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::vector<uint64_t> offsets; // from the first byte behind the header
  bool hasDtype = false, hasShape = false, hasOffsets = false;
};

Status readText(JSONCursor &json, std::string &into) {
  Expected<std::string> text = json.string();
  if (!text)
    return text.status();
  into = text.take();
  return {};
}

/// Numbers up to `most` each, at most `count` of them.
template <typename T>
Status readNumbers(JSONCursor &json, uint64_t most, size_t count, std::vector<T> &into) {
  return json.list([&]() -> Status {
    Expected<uint64_t> number = json.number();
    if (!number)
      return number.status();
    if (*number > most || into.size() == count)
      return json.wrong(*number > most ? std::to_string(*number) + " is too large"
                                       : "more than " + std::to_string(count) + " numbers");
    into.push_back(static_cast<T>(*number));
    return {};
  });
}

Status readTensor(JSONCursor &json, Described &tensor) {
  return json.object([&](const std::string &key) -> Status {
    if (key == "dtype") {
      tensor.hasDtype = true;
      return readText(json, tensor.dtype);
    }
    if (key == "shape") {
      tensor.hasShape = true;
      return readNumbers(json, INT64_MAX, maxRank, tensor.shape);
    }
    if (key == "data_offsets") {
      tensor.hasOffsets = true;
      return readNumbers(json, UINT64_MAX, 2, tensor.offsets);
    }
    return json.wrong("'" + key + "' is not known of a tensor");
  });
}

Status readTexts(JSONCursor &json, Metadata &metadata) {
  return json.object([&](const std::string &key) { return readText(json, metadata[key]); });
}

Status readHeader(std::string_view text, std::vector<Described> &tensors, Metadata &metadata) {
  JSONCursor json(text);
  GANTRY_RETURN_IF_ERROR(json.object([&](const std::string &key) -> Status {
    if (key == metadataKey)
      return readTexts(json, metadata);
    Described &tensor = tensors.emplace_back();
    tensor.name = key;
    GANTRY_RETURN_IF_ERROR(readTensor(json, tensor));
    if (!tensor.hasDtype || !tensor.hasShape || !tensor.hasOffsets || tensor.offsets.size() != 2)
      return json.wrong("'" + key + "' lacks its dtype, shape or two data_offsets");
    return {};
  }));
  return json.end();
}

/// A tensor as described, after its bytes have been found.
Expected<Safetensors::Tensor> place(Described &described, ByteSpan data, std::string_view file) {
  const std::string what = "tensor '" + described.name + "'";
  const auto known =
      std::find_if(std::begin(typeNames), std::end(typeNames),
                   [&](const TypeName &each) { return each.name == described.dtype; });
  if (known == std::end(typeNames)) {
    std::string names;
    for (const TypeName &each : typeNames)
      names += (names.empty() ? "" : ", ") + std::string(each.name);
    return Status::unsupported("'" + std::string(file) + "': " + what + " has the type '" +
                               described.dtype + "'; known are " + names);
  }
  const uint64_t begin = described.offsets[0], end = described.offsets[1];
  if (begin > end || end > data.size())
    return Status::corrupt(what + " lies at bytes " + std::to_string(begin) + " to " +
                           std::to_string(end) + " of " + std::to_string(data.size()));
  Safetensors::Tensor tensor{std::move(described.name), known->element, std::move(described.shape),
                             data.subspan(begin, end - begin)};
  const std::optional<uint64_t> size = tensorByteSize(tensor.element, tensor.shape);
  if (size != end - begin)
    return Status::corrupt(what + " is " + tensor.type() + ", which needs " +
                           (size ? std::to_string(*size) : "too many") + " bytes, and has " +
                           std::to_string(end - begin));
  if (tensor.element == ElementType::i1 &&
      std::any_of(tensor.bytes.begin(), tensor.bytes.end(), [](uint8_t byte) { return byte > 1; }))
    return Status::corrupt(what + " is BOOL, and a byte of it is neither 0 nor 1");
  return tensor;
}

/// Whether the tensors' bytes are all of `data`, each one's behind another's.
Status checkCover(std::span<const Safetensors::Tensor> tensors, ByteSpan data) {
  std::vector<const Safetensors::Tensor *> byPlace;
  for (const Safetensors::Tensor &tensor : tensors)
    byPlace.push_back(&tensor);
  std::sort(byPlace.begin(), byPlace.end(), [](const auto *a, const auto *b) {
    return std::pair(a->bytes.data(), a->bytes.size()) <
           std::pair(b->bytes.data(), b->bytes.size());
  });
  const uint8_t *at = data.data();
  for (const Safetensors::Tensor *tensor : byPlace) {
    const uint8_t *begin = tensor->bytes.data();
    if (begin != at)
      return Status::corrupt(
          "tensor '" + tensor->name + "' begins at byte " + std::to_string(begin - data.data()) +
          ", where the one before it ends at " + std::to_string(at - data.data()));
    at += tensor->bytes.size();
  }
  const auto rest = static_cast<uint64_t>(data.data() + data.size() - at);
  return rest == 0
             ? Status()
             : Status::corrupt(std::to_string(rest) + " bytes at its end belong to no tensor");
}

/// Splits a file into its header's text and the tensors' bytes.
Status splitFile(ByteSpan bytes, std::string_view &header, ByteSpan &data) {
  uint64_t length = 0;
  if (bytes.size() < lengthSize)
    return Status::corrupt("it has " + std::to_string(bytes.size()) +
                           " bytes, and the length of the header alone takes 8");
  std::memcpy(&length, bytes.data(), lengthSize);
  if (length > maxSafetensorsHeader || length > bytes.size() - lengthSize)
    return Status::corrupt(
        "its header has " + std::to_string(length) + " bytes, " +
        (length > maxSafetensorsHeader
             ? "at most " + std::to_string(maxSafetensorsHeader) + " are allowed"
             : "the file only " + std::to_string(bytes.size() - lengthSize) + " more"));
  header = {reinterpret_cast<const char *>(bytes.data()) + lengthSize, static_cast<size_t>(length)};
  data = bytes.subspan(lengthSize + length);
  return header.starts_with('{') ? Status() : Status::corrupt("its header does not begin with '{'");
}

/// The same failure, of a file.
Status inFile(std::string_view file, const Status &status, const char *part = "") {
  if (status.code() != StatusCode::corrupt)
    return status;
  return Status::corrupt("'" + std::string(file) + "' is not a readable safetensors file: " + part +
                         status.message());
}

bool isUTF8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = firstCodePoint(text);
    if (!point.valid)
      return false;
    text.remove_prefix(point.size);
  }
  return true;
}

void writeTexts(const Metadata &metadata, JSONWriter &json) {
  json.beginObject();
  for (const auto &[key, text] : metadata)
    json.member(key, text);
  json.endObject();
}

} // namespace

Expected<Safetensors> Safetensors::parse(ByteSpan bytes, std::string_view file) {
  std::string_view header;
  ByteSpan data;
  if (Status status = splitFile(bytes, header, data); !status.ok())
    return inFile(file, status);
  Safetensors made;
  std::vector<Described> described;
  if (Status status = readHeader(header, described, made.texts); !status.ok())
    return inFile(file, status, "its header, ");
  made.all.reserve(described.size());
  for (Described &each : described) {
    Expected<Tensor> tensor = place(each, data, file);
    if (!tensor)
      return inFile(file, tensor.status());
    made.all.push_back(tensor.take());
  }
  if (Status status = checkCover(made.all, data); !status.ok())
    return inFile(file, status);
  return made;
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  Expected<Safetensors> parsed = Safetensors::parse(file->bytes(), path);
  if (!parsed)
    return parsed.status();
  return SafetensorsFile(file.take(), parsed.take());
}

namespace {

using Entry = SafetensorsWriter::Entry;

Status checkNames(std::span<const Entry> entries, const Metadata &metadata) {
  std::set<std::string_view> names;
  for (const Entry &entry : entries) {
    const std::string what = "a tensor is called '" + entry.name + "', which ";
    if (entry.name == metadataKey)
      return Status::invalidArgument(what + "is the file's own");
    if (!isUTF8(entry.name))
      return Status::invalidArgument(what + "is not UTF-8");
    if (!names.insert(entry.name).second)
      return Status::invalidArgument(what + "another one is, too");
  }
  for (const auto &[key, text] : metadata)
    if (!isUTF8(key) || !isUTF8(text))
      return Status::invalidArgument("its metadata are not UTF-8");
  return {};
}

/// Wide elements first, so that all are aligned to their size; then by name.
std::vector<size_t> orderOf(std::span<const Entry> entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const uint64_t widthA = elementTypeSize(entries[a].element);
    const uint64_t widthB = elementTypeSize(entries[b].element);
    return widthA != widthB ? widthA > widthB : entries[a].name < entries[b].name;
  });
  return order;
}

/// The header with its length, a multiple of 8 as the tensors' bytes begin at one.
Expected<std::string> headerOf(std::span<const Entry> entries, std::span<const size_t> order,
                               const Metadata &metadata) {
  JSONWriter json;
  json.beginObject();
  if (!metadata.empty())
    writeTexts(metadata, json.key(metadataKey));
  uint64_t at = 0;
  for (size_t i : order) {
    const Entry &entry = entries[i];
    const std::optional<uint64_t> size = tensorByteSize(entry.element, entry.shape);
    uint64_t end = 0;
    if (!size || addOverflows(at, *size, &end) || entry.shape.size() > maxRank)
      return Status::invalidArgument("tensor '" + entry.name + "' is too large");
    json.key(entry.name).beginObject().member("dtype", nameOf(entry.element));
    json.key("shape").beginArray();
    for (int64_t dim : entry.shape)
      json.value(dim);
    json.endArray().key("data_offsets").beginArray().value(at).value(end).endArray().endObject();
    at = end;
  }
  json.endObject();
  const uint64_t length = alignTo(json.text().size(), lengthSize);
  if (length > maxSafetensorsHeader)
    return Status::invalidArgument("its header has " + std::to_string(length) + " bytes, at most " +
                                   std::to_string(maxSafetensorsHeader) + " are allowed");
  std::string header(reinterpret_cast<const char *>(&length), lengthSize);
  header += json.text();
  header.resize(lengthSize + length, ' ');
  return header;
}

} // namespace

Expected<SafetensorsWriter> SafetensorsWriter::create(const std::string &path,
                                                      std::vector<Entry> entries,
                                                      const Metadata &metadata) {
  const auto cannotWrite = [&path](const Status &status) {
    return Status(status.code(), "cannot write '" + path + "': " + status.message());
  };
  if (Status status = checkNames(entries, metadata); !status.ok())
    return cannotWrite(status);
  std::vector<size_t> order = orderOf(entries);
  Expected<std::string> header = headerOf(entries, order, metadata);
  if (!header)
    return cannotWrite(header.status());
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  GANTRY_RETURN_IF_ERROR(
      file->write({reinterpret_cast<const uint8_t *>(header->data()), header->size()}));
  return SafetensorsWriter(file.take(), std::move(order));
}

Status writeSafetensors(const std::string &path,
                        std::span<const std::pair<std::string, ArrayView>> arrays,
                        const Metadata &metadata) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto &[name, view] : arrays)
    entries.push_back({name, view.element, {view.shape.begin(), view.shape.end()}});
  Expected<SafetensorsWriter> writer =
      SafetensorsWriter::create(path, std::move(entries), metadata);
  if (!writer)
    return writer.status();
  for (size_t i : writer->order())
    GANTRY_RETURN_IF_ERROR(writer->write({arrays[i].second.data, size_t(arrays[i].second.size())}));
  return writer->commit();
}

Expected<Metadata> parseMetadata(std::string_view json) {
  Metadata metadata;
  JSONCursor cursor(json);
  Status status = json.empty() ? Status() : readTexts(cursor, metadata);
  if (status.ok())
    status = cursor.end();
  if (!status.ok())
    return Status::invalidArgument("the metadata are not a JSON object of texts: " +
                                   status.message());
  return metadata;
}

std::string metadataText(const Metadata &metadata) {
  JSONWriter json;
  writeTexts(metadata, json);
  return json.text();
}

Expected<TensorNames> parseTensorNames(std::string_view json) {
  TensorNames names;
  JSONCursor cursor(json);
  Status status = json.empty() ? Status() : cursor.object([&](const std::string &key) -> Status {
    if (cursor.eatWord("null")) {
      names[key] = std::nullopt;
      return {};
    }
    return readText(cursor, names[key].emplace());
  });
  if (status.ok())
    status = cursor.end();
  if (!status.ok())
    return Status::invalidArgument("the map is not a JSON object of names: " + status.message());
  return names;
}

} // namespace gantry::arrays
