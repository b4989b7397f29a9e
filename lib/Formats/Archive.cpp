// The .npz format: a zip archive of .npy files, stored or deflated; libzip does the zip side.
#include "gantry/Formats/Archive.h"

#include <cstring>
#include <zip.h>

namespace gantry::arrays {

namespace {

struct DiscardArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

Status corrupt(std::string_view file, std::string what) {
  return Status::corrupt("'" + std::string(file) + "' is not a readable .npz file: " + what);
}

/// Owns an error object of libzip and gives its text.
struct ZipError {
  ZipError() { zip_error_init(&error); }
  ~ZipError() { zip_error_fini(&error); }
  std::string text() { return zip_error_strerror(&error); }
  zip_error_t error;
};

Expected<Archive> openArchive(ByteSpan bytes, std::string_view file) {
  if (bytes.empty()) // to libzip an archive without entries
    return corrupt(file, "it is empty");
  ZipError error;
  zip_source_t *source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error);
  if (!source)
    return corrupt(file, error.text());
  zip_t *archive = zip_open_from_source(source, ZIP_RDONLY, &error.error);
  if (!archive) {
    zip_source_free(source);
    return corrupt(file, error.text());
  }
  return Archive(archive);
}

/// Inflates one entry. Its claimed size is checked against what deflate can do at best (1032 to 1)
/// before memory is asked for; a wrong claim shows when the entry ends early.
Expected<AlignedBuffer> readEntry(zip_t *archive, const zip_stat_t &entry, uint64_t archiveSize,
                                  std::string_view file) {
  if (entry.comp_method != ZIP_CM_STORE && entry.comp_method != ZIP_CM_DEFLATE)
    return Status::unsupported("'" + std::string(file) + "' packs entry '" + entry.name +
                               "' by another method than NumPy's, stored or deflated");
  if (entry.comp_size > archiveSize || entry.size / 1032 > entry.comp_size)
    return corrupt(file, "entry '" + std::string(entry.name) + "' claims " +
                             std::to_string(entry.size) + " bytes");
  auto bytes = AlignedBuffer::allocate(entry.size);
  if (!bytes.data())
    return Status::doesNotFit("no memory for entry '" + std::string(entry.name) + "' of '" +
                              std::string(file) + "'");
  std::unique_ptr<zip_file_t, CloseFile> in(zip_fopen_index(archive, entry.index, 0));
  uint64_t done = 0;
  while (in && done < entry.size) {
    const zip_int64_t count = zip_fread(in.get(), bytes.data() + done, entry.size - done);
    if (count <= 0)
      break;
    done += static_cast<uint64_t>(count);
  }
  // The read past the end makes libzip compare the checksum.
  char past;
  if (!in || done != entry.size || zip_fread(in.get(), &past, 1) != 0)
    return corrupt(file, "entry '" + std::string(entry.name) + "' cannot be unpacked");
  return bytes;
}

std::string withoutSuffix(std::string name) {
  if (name.ends_with(".npy"))
    name.resize(name.size() - 4);
  return name;
}

} // namespace

Expected<std::vector<NamedArray>> parseNpz(ByteSpan bytes, std::string_view file) {
  auto archive = openArchive(bytes, file);
  if (!archive)
    return archive.status();
  std::vector<NamedArray> arrays;
  const zip_int64_t count = zip_get_num_entries(archive->get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    constexpr zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive->get(), static_cast<zip_uint64_t>(i), 0, &entry) != 0 ||
        (entry.valid & needed) != needed)
      return corrupt(file, "entry " + std::to_string(i) + " has no name or size");
    entry.index = static_cast<zip_uint64_t>(i);
    auto content = readEntry(archive->get(), entry, bytes.size(), file);
    if (!content)
      return content.status();
    auto array = parseNpy(content->bytes(), std::string(file) + ":" + entry.name);
    if (!array)
      return array.status();
    arrays.push_back({withoutSuffix(entry.name), array.take()});
  }
  return arrays;
}

Status writeNpz(const std::string &path,
                std::span<const std::pair<std::string, ArrayView>> arrays) {
  // The archive is made in memory, so that it can be put in its place in one step like other files.
  ZipError error;
  zip_source_t *target = zip_source_buffer_create(nullptr, 0, 0, &error.error);
  zip_t *archive = target ? zip_open_from_source(target, ZIP_TRUNCATE, &error.error) : nullptr;
  if (!archive) {
    zip_source_free(target);
    return Status::internal("cannot make '" + path + "': " + error.text());
  }
  zip_source_keep(target);
  std::vector<AlignedBuffer> files; // alive until zip_close, which reads them
  Status status;
  for (const auto &[name, array] : arrays) {
    const std::string header = npyHeader(array.element, array.shape);
    auto file = AlignedBuffer::allocate(header.size() + array.size());
    if (!file.data()) {
      status = Status::doesNotFit("no memory to write '" + path + "'");
      break;
    }
    std::memcpy(file.data(), header.data(), header.size());
    if (array.size())
      std::memcpy(file.data() + header.size(), array.data, array.size());
    zip_source_t *source = zip_source_buffer(archive, file.data(), file.size(), 0);
    const zip_int64_t index =
        zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      status = Status::internal("cannot add '" + name + "' to '" + path + "'");
      break;
    }
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
    files.push_back(std::move(file));
  }
  if (!status.ok() || zip_close(archive) != 0) {
    if (status.ok())
      status = Status::internal("cannot make '" + path + "': " + zip_strerror(archive));
    zip_discard(archive);
    zip_source_free(target);
    return status;
  }
  zip_stat_t info;
  if (zip_source_stat(target, &info) == 0 && zip_source_open(target) == 0) {
    auto content = AlignedBuffer::allocate(info.size);
    const bool whole = content.data() && zip_source_read(target, content.data(), info.size) ==
                                             static_cast<zip_int64_t>(info.size);
    const ByteSpan parts[] = {content.bytes()};
    status = whole ? writeFile(path, parts) : Status::internal("cannot make '" + path + "'");
    zip_source_close(target);
  }
  zip_source_free(target);
  return status;
}

Expected<std::vector<NamedArray>> readArrays(const std::string &path) {
  auto file = FileBytes::open(path);
  if (!file)
    return file.status();
  const ByteSpan bytes = file->bytes();
  if (bytes.size() >= 2 && bytes[0] == 'P' && bytes[1] == 'K')
    return parseNpz(bytes, path);
  auto array = parseArray(bytes, path);
  if (!array)
    return array.status();
  std::vector<NamedArray> arrays;
  arrays.push_back(array.take());
  return arrays;
}

} // namespace gantry::arrays
