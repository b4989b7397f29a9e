// Array files from hostile hands: every claim of a header is checked, every error says what is
// wrong.
#include "TemporaryFolder.h"
#include "gantry/Formats/Archive.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

using namespace gantry;
using namespace gantry::arrays;

namespace {

std::vector<uint8_t> npy(std::string dict, std::vector<uint8_t> data, int version = 1) {
  std::vector<uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<uint8_t>(version), 0};
  const size_t lengthBytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < lengthBytes; ++i)
    file.push_back(static_cast<uint8_t>(dict.size() >> (8 * i)));
  file.insert(file.end(), dict.begin(), dict.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

std::string dict(const std::string &descr, const std::string &shape,
                 const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string errorOf(std::vector<uint8_t> file) {
  auto array = parseNpy(file, "x.npy");
  return array ? "no error" : array.status().message();
}

std::vector<int64_t> integers(const Array &array) {
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < array.view().count(); ++i)
    values.push_back(integerAt(array.view(), i));
  return values;
}

} // namespace

TEST(ArrayFiles, SaysWhatIsEmptyAndWhatNeverEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string pipe = "/proc/self/fd/" + std::to_string(ends[0]);
  const std::vector<char> bytes(20 << 10);
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), ssize_t(bytes.size()));
  auto endless = FileBytes::open(pipe, 10 << 10);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.status().code(), StatusCode::doesNotFit);
  EXPECT_EQ(endless.status().message(),
            "'" + pipe + "' goes on after 10 KiB; what is larger has to be a file");
  ::close(ends[1]);
  while (::read(ends[0], const_cast<char *>(bytes.data()), bytes.size()) > 0) {
  }
  auto empty = readArray(pipe);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.status().message(),
            "'" + pipe + "' is empty; expected a .npy or .npz file or an ONNX TensorProto");
  ::close(ends[0]);
}

TEST(ArrayFiles, DevicesAreRefusedBeforeTheyAreRead) {
  for (const std::string device : {"/dev/zero", "/dev/null", "/dev/urandom", "/dev/full"}) {
    auto file = FileBytes::open(device);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.status().code(), StatusCode::invalidArgument);
    EXPECT_EQ(file.status().message(),
              "cannot read '" + device + "': it is a device, expected a file or a pipe");
  }
}

TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    auto array = parseNpy(npy(dict("<i2", "(2,)"), {1, 0, 2, 0}, version), "x.npy");
    ASSERT_TRUE(array) << array.status().message();
    EXPECT_EQ(array->type(), "i16[2]");
    EXPECT_EQ(integers(*array), (std::vector<int64_t>{1, 2}));
  }
}

TEST(Npy, BringsBigEndianAndFortranOrderIntoOurForm) {
  auto big = parseNpy(npy(dict(">i2", "(2,)"), {0, 1, 1, 0}), "x.npy");
  ASSERT_TRUE(big);
  EXPECT_EQ(integers(*big), (std::vector<int64_t>{1, 256}));
  auto fortran = parseNpy(npy(dict("|u1", "(2, 3)", "True"), {0, 3, 1, 4, 2, 5}), "x.npy");
  ASSERT_TRUE(fortran);
  EXPECT_EQ(integers(*fortran), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, MakesBooleansZeroOrOne) {
  auto array = parseNpy(npy(dict("|b1", "(3,)"), {0, 1, 255}), "x.npy");
  ASSERT_TRUE(array);
  EXPECT_EQ(array->bytes.data()[2], 1);
}

TEST(Npy, ScalarsAndEmptyArrays) {
  auto scalar = parseNpy(npy(dict("|i1", "()"), {7}), "x.npy");
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->type(), "i8[]");
  auto empty = parseNpy(npy(dict("<f4", "(4611686018427387904, 0, 9223372036854775807)"), {}), "x");
  ASSERT_TRUE(empty) << empty.status().message();
  EXPECT_EQ(empty->view().count(), 0u);
}

TEST(Npy, RefusesShapesThatTheFileDoesNotHold) {
  EXPECT_EQ(
      errorOf(npy(dict("<f4", "(2, 2)"), {0, 0, 0, 0})),
      "'x.npy' is not a readable .npy file: an array f32[2,2] needs 16 bytes, the file holds 4");
  EXPECT_EQ(
      errorOf(npy(dict("<f8", "(4294967296, 4294967296)"), {})),
      "'x.npy' is not a readable .npy file: an array f64[4294967296,4294967296] needs too many "
      "bytes, the file holds 0");
  EXPECT_NE(errorOf(npy(dict("<f4", "(-1,)"), {})), "no error");
  EXPECT_NE(errorOf(npy(dict("<f4", "(99999999999999999999,)"), {})), "no error");
  EXPECT_NE(errorOf(npy(dict("<f4", "(1,)"), {0, 0, 0, 0, 0})), "no error");
}

TEST(Npy, RefusesTypesByName) {
  for (const char *descr : {"<c8", "<U4", "|O", "<M8[ns]", "<f16", "[('a', '<f4')]"})
    EXPECT_NE(errorOf(npy(dict(descr, "(1,)"), std::vector<uint8_t>(16)))
                  .find(descr[0] == '[' ? "header" : descr),
              std::string::npos)
        << descr;
}

TEST(Npy, RefusesBrokenHeaders) {
  for (const char *text :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': Maybe, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"})
    EXPECT_NE(errorOf(npy(text, {0, 0, 0, 0})).find("its header is not"), std::string::npos)
        << text;
  EXPECT_EQ(errorOf({'P', 'N', 'G'}), "'x.npy' is not a readable .npy file: it does not begin with "
                                      "the magic string \\x93NUMPY");
  EXPECT_EQ(errorOf(npy("{", {}, 9)),
            "'x.npy' is not a readable .npy file: format version 9, known are 1 to 3");
}

TEST(Npy, AnyTruncationAndAnyFlippedByteIsHandled) {
  const auto whole = npy(dict("<f4", "(2, 3)", "True"), std::vector<uint8_t>(24, 1));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parseNpy(std::span(whole).first(size), "x")) << size;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      auto file = whole;
      file[at] ^= static_cast<uint8_t>(1 << bit);
      auto array = parseNpy(file, "x"); // must return; what is readable has the right size
      if (array)
        EXPECT_EQ(array->bytes.size(), 24u);
    }
}

TEST(Npy, WritesWhatItReads) {
  TemporaryFolder folder;
  for (ElementType element : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::i1,
                              ElementType::u8, ElementType::i64, ElementType::u16}) {
    auto array = Array::make(element, {2, 1, 2});
    ASSERT_TRUE(array);
    for (uint64_t i = 0; i < 4; ++i)
      storeFloat(element, array->bytes.data() + i * elementTypeSize(element), double(i & 1));
    ASSERT_TRUE(writeNpy(folder / "a.npy", array->view()).ok());
    auto back = readArrays(folder / "a.npy");
    ASSERT_TRUE(back) << back.status().message();
    EXPECT_EQ(back->at(0).array.type(), array->type());
    EXPECT_EQ(std::memcmp(back->at(0).array.bytes.data(), array->bytes.data(), array->bytes.size()),
              0);
  }
}

TEST(Npy, WritesNothingWhereItCannot) {
  auto array = Array::make(ElementType::u8, {1});
  EXPECT_EQ(writeNpy("/nonexistent/a.npy", array->view()).code(), StatusCode::notFound);
}

std::vector<uint8_t> contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Npz, AnyFlippedByteIsHandled) {
  TemporaryFolder folder;
  auto array = Array::make(ElementType::u8, {3});
  std::memcpy(array->bytes.data(), "abc", 3);
  const std::pair<std::string, ArrayView> content[] = {{"a", array->view()}, {"b", array->view()}};
  ASSERT_TRUE(writeNpz(folder / "a.npz", content).ok());
  const std::vector<uint8_t> whole = contentOf(folder / "a.npz");
  auto back = parseNpz(whole, "a.npz");
  ASSERT_TRUE(back) << back.status().message();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[1].name, "b");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parseNpz(std::span(whole).first(size), "a.npz")) << size;
  for (size_t at = 0; at < whole.size(); ++at)
    for (int flip : {1, 0x80, 0xff}) {
      auto file = whole;
      file[at] ^= static_cast<uint8_t>(flip);
      (void)parseNpz(file, "a.npz");
    }
}

TEST(Npz, GivesTheSameBytesEveryTime) {
  TemporaryFolder folder;
  auto array = Array::make(ElementType::u8, {3});
  std::memcpy(array->bytes.data(), "abc", 3);
  const std::pair<std::string, ArrayView> content[] = {{"a", array->view()}};
  ASSERT_TRUE(writeNpz(folder / "a.npz", content).ok());
  const std::vector<uint8_t> first = contentOf(folder / "a.npz");
  // A zip file counts time in steps of two seconds.
  EXPECT_EQ(std::vector<uint8_t>(first.begin() + 10, first.begin() + 14),
            (std::vector<uint8_t>{0, 0, 0x21, 0}));
}

TEST(Npz, SaysWhatIsWrong) {
  TemporaryFolder folder;
  auto array = Array::make(ElementType::u8, {3});
  std::memcpy(array->bytes.data(), "abc", 3);
  const std::pair<std::string, ArrayView> content[] = {{"a", array->view()}, {"b", array->view()}};
  ASSERT_TRUE(writeNpz(folder / "a.npz", content).ok());
  const std::vector<uint8_t> whole = contentOf(folder / "a.npz");
  // Two headers with their names, .npy files of 131 bytes; two places in the directory; the end.
  constexpr size_t header = 35 + 131, directory = 2 * header, place = 51,
                   end = directory + 2 * place;
  ASSERT_EQ(whole.size(), end + 22);
  auto refusal = [&](size_t at, std::initializer_list<uint8_t> bytes) {
    auto file = whole;
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<ptrdiff_t>(at));
    return std::string(parseNpz(file, "x.npz").status().message());
  };
  const std::string unreadable = "'x.npz' is not a readable .npz file: ";
  EXPECT_EQ(parseNpz({}, "x.npz").status().message(), unreadable + "it is empty");
  EXPECT_EQ(refusal(end, {0}), unreadable + "the end of the archive is missing");
  EXPECT_EQ(refusal(end + 16, {0xff, 0xff, 0xff, 0xff}),
            unreadable + "its directory lies outside of the file");
  EXPECT_EQ(refusal(end + 10, {3}), unreadable + "its directory has 2 entries, expected 3");
  EXPECT_EQ(refusal(directory, {0}), unreadable + "its directory is damaged");
  EXPECT_EQ(refusal(directory + 28, {0xff, 0xff}),
            unreadable + "its directory is damaged"); // length of the name
  EXPECT_EQ(refusal(directory + 46, {0}), unreadable + "its directory is damaged"); // in the name
  EXPECT_EQ(refusal(directory + 42, {0xff, 0xff, 0xff, 0xff}), // an addition of 64 bits is missing
            unreadable + "its directory is damaged");
  EXPECT_EQ(refusal(directory + 42, {1}), unreadable + "entry 'a.npy' lies outside of the file");
  EXPECT_EQ(refusal(directory + 20, {0xff, 0xff}),
            unreadable + "entry 'a.npy' lies outside of the file");
  EXPECT_EQ(refusal(directory + 24, {132}), unreadable + "entry 'a.npy' claims 132 bytes");
  EXPECT_EQ(refusal(directory + 16, {0, 0}),
            unreadable + "entry 'a.npy' cannot be unpacked"); // checksum
  EXPECT_EQ(refusal(directory + 10, {8}),
            unreadable + "entry 'a.npy' cannot be unpacked"); // not deflated
  EXPECT_EQ(refusal(directory + 8, {1}),
            "'x.npz' packs entry 'a.npy' by another method than NumPy's, stored or deflated");
  // Both entries are all that is before the directory.
  auto overlapping = whole;
  overlapping[directory + 20] = overlapping[directory + 24] = (header * 2 - 35) & 0xff;
  overlapping[directory + 21] = overlapping[directory + 25] = (header * 2 - 35) >> 8;
  EXPECT_EQ(parseNpz(overlapping, "x.npz").status().message(), unreadable + "its entries overlap");
  const std::string name(65532, 'n');
  const std::pair<std::string, ArrayView> tooLong[] = {{name, array->view()}};
  EXPECT_EQ(writeNpz("/nowhere/x.npz", tooLong).message(),
            "cannot write '/nowhere/x.npz': the name of an array has 65532 bytes, at most 65531 "
            "are possible");
}

TEST(TensorProto, ReadsPackedAndRawElements) {
  // dims: 2, data_type: FLOAT, float_data: [1, -2], name: "x"
  const std::vector<uint8_t> packed = {0x08, 2, 0x10, 1, 0x22, 8,    0, 0,  0x80,
                                       0x3f, 0, 0,    0, 0xc0, 0x42, 1, 'x'};
  auto tensor = parseTensorProto(packed, "x.pb");
  ASSERT_TRUE(tensor) << tensor.status().message();
  EXPECT_EQ(tensor->name, "x");
  EXPECT_EQ(tensor->array.type(), "f32[2]");
  EXPECT_EQ(valueAt(tensor->array.view(), 1), -2.0);
  // dims: [1, 2] packed, data_type: INT64, int64_data: [-1, 300] packed
  const std::vector<uint8_t> integersOnly = {0x0a, 2,    1,    2,    0x10, 7,    0x3a,
                                             12,   0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 1,    0xac, 2};
  auto integersTensor = parseTensorProto(integersOnly, "x.pb");
  ASSERT_TRUE(integersTensor) << integersTensor.status().message();
  EXPECT_EQ(integers(integersTensor->array), (std::vector<int64_t>{-1, 300}));
}

TEST(TensorProto, RandomBytesAreHandled) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 40);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(random() % 3 ? random() % 24 : random());
    auto tensor = parseTensorProto(bytes, "x.pb");
    if (tensor)
      EXPECT_LE(tensor->array.bytes.size(), 8 * bytes.size()); // a byte may hold one i64
  }
}

TEST(Files, SayWhatIsMissing) {
  EXPECT_EQ(readArrays("/nonexistent/x.npy").status().message(),
            "cannot open '/nonexistent/x.npy': no such file or folder");
  EXPECT_FALSE(readArrays("/"));
}
