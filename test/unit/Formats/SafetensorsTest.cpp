// Files of tensors: what the format allows is read where it lies, what it does not is refused with
// what is wrong, and what is written is there whole.
#include "gantry/Formats/Safetensors.h"
#include "TemporaryFolder.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <sys/resource.h>

#include <csignal>

using namespace gantry;
using namespace gantry::arrays;

namespace {

/// A file by the format's description; `length` is what it says of its header.
std::string fileOf(const std::string &header, const std::string &data, uint64_t length) {
  std::string file(reinterpret_cast<const char *>(&length), sizeof length);
  return file + header + data;
}
std::string fileOf(const std::string &header, const std::string &data = "") {
  return fileOf(header, data, header.size());
}

std::string tensor(const std::string &name, const std::string &type, const std::string &shape,
                   const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

ByteSpan bytesOf(const std::string &file) {
  return {reinterpret_cast<const uint8_t *>(file.data()), file.size()};
}

Status statusOf(const std::string &file) {
  auto parsed = Safetensors::parse(bytesOf(file), "x");
  return parsed ? Status() : parsed.status();
}

/// The message, without what all begin with.
std::string whyNot(const std::string &file) {
  const Status status = statusOf(file);
  const std::string begin = "'x' is not a readable safetensors file: ";
  if (status.ok())
    return "no error";
  EXPECT_EQ(status.code(), StatusCode::corrupt);
  EXPECT_TRUE(status.message().starts_with(begin)) << status.message();
  return status.message().substr(begin.size());
}

std::string contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

} // namespace

TEST(Safetensors, ReadsWhereTheBytesLie) {
  const std::string file =
      fileOf(R"({"__metadata__":{"format":"pt"},)" + tensor("b", "I16", "[2]", "[3,7]") + " ,\n\t" +
                 tensor("a", "U8", "[3, 1]", "[0, 3]") + "}   ",
             std::string("\x01\x02\x03\x01\x00\x00\x01", 7));
  auto parsed = Safetensors::parse(bytesOf(file), "x");
  ASSERT_TRUE(parsed) << parsed.status().message();
  EXPECT_EQ(parsed->metadata(), (Metadata{{"format", "pt"}}));
  ASSERT_EQ(parsed->tensors().size(), 2u);
  const Safetensors::Tensor &first = parsed->tensors()[0];
  EXPECT_EQ(first.name, "b");
  EXPECT_EQ(first.type(), "i16[2]");
  EXPECT_EQ(integerAt(first.view(), 1), 256);
  EXPECT_EQ(first.bytes.data(), bytesOf(file).data() + file.size() - 4); // at an odd address
  EXPECT_EQ(parsed->tensors()[1].type(), "u8[3,1]");
}

TEST(Safetensors, KnowsAllTypesOfBoth) {
  const std::pair<const char *, const char *> types[] = {
      {"BOOL", "i1"}, {"U8", "u8"},   {"I8", "i8"},   {"U16", "u16"}, {"I16", "i16"},
      {"F16", "f16"}, {"U32", "u32"}, {"I32", "i32"}, {"F32", "f32"}, {"BF16", "bf16"},
      {"U64", "u64"}, {"I64", "i64"}, {"F64", "f64"}};
  EXPECT_EQ(std::size(types), numElementTypes);
  for (const auto &[theirs, ours] : types) {
    const uint64_t size = elementTypeSize(*elementTypeNamed(ours));
    const std::string file =
        fileOf("{" + tensor("t", theirs, "[]", "[0," + std::to_string(size) + "]") + "}",
               std::string(size, 0));
    auto parsed = Safetensors::parse(bytesOf(file), "x");
    ASSERT_TRUE(parsed) << parsed.status().message();
    EXPECT_EQ(parsed->tensors()[0].type(), std::string(ours) + "[]");
  }
  const Status other = statusOf(fileOf("{" + tensor("t", "F8_E4M3", "[1]", "[0,1]") + "}", "x"));
  EXPECT_EQ(other.code(), StatusCode::unsupported);
  EXPECT_EQ(other.message(), "'x': tensor 't' has the type 'F8_E4M3'; known are BOOL, U8, I8, U16, "
                             "I16, F16, U32, BF16, I32, F32, U64, I64, F64");
}

TEST(Safetensors, TakesWhatHasNoBytes) {
  EXPECT_TRUE(statusOf(fileOf("{}")).ok());
  EXPECT_TRUE(statusOf(fileOf("{\"__metadata__\":{}}  ")).ok());
  EXPECT_TRUE(statusOf(fileOf("{" + tensor("a", "F32", "[0,9223372036854775807,7]", "[0,0]") + "," +
                                  tensor("b", "U8", "[2]", "[0,2]") + "," +
                                  tensor("c", "F64", "[0]", "[2,2]") + "}",
                              "xy"))
                  .ok());
}

TEST(Safetensors, ReadsEveryFormOfNames) {
  const std::string file =
      fileOf("{\"__metadata__\":{\"\\u00e9\\ud83d\\ude00\\n\\/\":\"\xc3\xa9\"}}");
  auto parsed = Safetensors::parse(bytesOf(file), "x");
  ASSERT_TRUE(parsed) << parsed.status().message();
  EXPECT_EQ(parsed->metadata(), (Metadata{{"\xc3\xa9\xf0\x9f\x98\x80\n/", "\xc3\xa9"}}));
}

TEST(Safetensors, SaysWhatIsDamagedAround) {
  EXPECT_EQ(whyNot(""), "it has 0 bytes, and the length of the header alone takes 8");
  EXPECT_EQ(whyNot("1234567"), "it has 7 bytes, and the length of the header alone takes 8");
  EXPECT_EQ(whyNot(fileOf("{}", "", 3)), "its header has 3 bytes, the file only 2 more");
  EXPECT_EQ(whyNot(fileOf("{}", "", 100'000'001)),
            "its header has 100000001 bytes, at most 100000000 are allowed");
  EXPECT_EQ(whyNot(fileOf("{}", "", UINT64_MAX)),
            "its header has 18446744073709551615 bytes, at most 100000000 are allowed");
  EXPECT_EQ(whyNot(fileOf("")), "its header does not begin with '{'");
  EXPECT_EQ(whyNot(fileOf(" {}")), "its header does not begin with '{'");
  EXPECT_EQ(whyNot(fileOf("[]")), "its header does not begin with '{'");
  EXPECT_EQ(whyNot(fileOf("{}x")), "its header, byte 2: expected the end");
  EXPECT_EQ(whyNot(fileOf("{}", "abc")), "3 bytes at its end belong to no tensor");
}

TEST(Safetensors, SaysWhatIsDamagedInTheHeader) {
  const auto header = [](const std::string &text) { return whyNot(fileOf(text, "abcd")); };
  EXPECT_EQ(header("{"), "its header, byte 1: expected '\"'");
  EXPECT_EQ(header("{\"a"), "its header, byte 3: a text without an end");
  EXPECT_EQ(header("{\"a\"}"), "its header, byte 4: expected ':'");
  EXPECT_EQ(header("{\"a\":[[[[[[[[[[]]]]]]]]]]}"), "its header, byte 5: expected '{'");
  EXPECT_EQ(header("{" + tensor("a", "U8", "[[4]]", "[0,4]") + "}"),
            "its header, byte 28: expected a whole number below 2^64");
  EXPECT_EQ(header("{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}"),
            "its header, byte 31: 'a' lacks its dtype, shape or two data_offsets");
  EXPECT_EQ(header("{" + tensor("a", "U8", "[4]", "[4]") + "}"),
            "its header, byte 50: 'a' lacks its dtype, shape or two data_offsets");
  EXPECT_EQ(header("{" + tensor("a", "U8", "[4]", "[0,4,4]") + "}"),
            "its header, byte 52: more than 2 numbers");
  EXPECT_EQ(header("{\"a\":{\"type\":\"U8\"}}"),
            "its header, byte 13: 'type' is not known of a tensor");
  EXPECT_EQ(header("{" + tensor("a", "U8", "[4]", "[0,4]") + "," +
                   tensor("a", "U8", "[4]", "[0,4]") + "}"),
            "its header, byte 56: 'a' is there twice");
  EXPECT_EQ(header("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"),
            "its header, byte 26: 'dtype' is there twice");
  EXPECT_EQ(header("{\"__metadata__\":{\"a\":1}}"), "its header, byte 21: expected '\"'");
  EXPECT_EQ(header("{\"__metadata__\":\"a\"}"), "its header, byte 16: expected '{'");
  EXPECT_EQ(header("{\"\xff\":1}"), "its header, byte 2: a text that is not UTF-8");
  EXPECT_EQ(header("{\"\n\":1}"), "its header, byte 2: a control character in a text");
  EXPECT_EQ(header("{\"\\ud800\":1}"), "its header, byte 8: half of a surrogate pair");
  EXPECT_EQ(header("{\"\\ud800 \\udc00\":1}"), "its header, byte 8: half of a surrogate pair");
  EXPECT_EQ(header("{\"\\udc00\":1}"), "its header, byte 8: half of a surrogate pair");
  EXPECT_EQ(header("{\"\\u12g4\":1}"), "its header, byte 4: expected four hexadecimal digits");
  EXPECT_EQ(header("{\"\\u0000\":1}"), "its header, byte 8: a zero character in a text");
  EXPECT_EQ(header("{\"\\x\":1}"), "its header, byte 4: an unknown escape");
  for (const char *number : {"-1", "4.0", "4e0", "04", "18446744073709551616", "\"4\"", "null"})
    EXPECT_EQ(header("{" + tensor("a", "U8", "[" + std::string(number) + "]", "[0,4]") + "}"),
              "its header, byte 28: expected a whole number below 2^64");
  EXPECT_EQ(header("{" + tensor("a", "U8", "[9223372036854775808]", "[0,4]") + "}"),
            "its header, byte 47: 9223372036854775808 is too large");
  std::string dims = "[1";
  for (int i = 0; i < 32; ++i)
    dims += ",1";
  EXPECT_EQ(header("{" + tensor("a", "F32", dims + "]", "[0,4]") + "}"),
            "its header, byte 94: more than 32 numbers");
}

TEST(Safetensors, SaysWhatIsDamagedInTheBytes) {
  const auto bytes = [](const std::string &tensors) {
    return whyNot(fileOf("{" + tensors + "}", "abcdefgh"));
  };
  EXPECT_EQ(bytes(tensor("a", "U8", "[9]", "[0,9]")), "tensor 'a' lies at bytes 0 to 9 of 8");
  EXPECT_EQ(bytes(tensor("a", "U8", "[4]", "[8,4]")), "tensor 'a' lies at bytes 8 to 4 of 8");
  EXPECT_EQ(bytes(tensor("a", "U8", "[4]", "[18446744073709551615,3]")),
            "tensor 'a' lies at bytes 18446744073709551615 to 3 of 8");
  EXPECT_EQ(bytes(tensor("a", "F32", "[3]", "[0,8]")),
            "tensor 'a' is f32[3], which needs 12 bytes, and has 8");
  EXPECT_EQ(bytes(tensor("a", "F32", "[4294967296,4294967296,4294967296]", "[0,8]")),
            "tensor 'a' is f32[4294967296,4294967296,4294967296], which needs too many bytes, and "
            "has 8");
  EXPECT_EQ(bytes(tensor("a", "U8", "[6]", "[0,6]") + "," + tensor("b", "U8", "[4]", "[4,8]")),
            "tensor 'b' begins at byte 4, where the one before it ends at 6");
  EXPECT_EQ(bytes(tensor("a", "U8", "[8]", "[0,8]") + "," + tensor("b", "U8", "[8]", "[0,8]")),
            "tensor 'b' begins at byte 0, where the one before it ends at 8");
  EXPECT_EQ(bytes(tensor("a", "U8", "[2]", "[0,2]") + "," + tensor("b", "U8", "[4]", "[4,8]")),
            "tensor 'b' begins at byte 4, where the one before it ends at 2");
  EXPECT_EQ(bytes(tensor("a", "U8", "[8]", "[0,8]") + "," + tensor("b", "U8", "[0]", "[3,3]")),
            "tensor 'b' begins at byte 3, where the one before it ends at 8");
  EXPECT_EQ(bytes(tensor("a", "U8", "[4]", "[4,8]")),
            "tensor 'a' begins at byte 4, where the one before it ends at 0");
  EXPECT_EQ(bytes(tensor("a", "U8", "[6]", "[0,6]")), "2 bytes at its end belong to no tensor");
  EXPECT_EQ(bytes(tensor("a", "BOOL", "[8]", "[0,8]")),
            "tensor 'a' is BOOL, and a byte of it is neither 0 nor 1");
}

/// Every prefix of a file, and files with one byte changed: refused, or as good as before.
TEST(Safetensors, TornAndChangedFilesAreRefusedOrWhole) {
  const std::string good =
      fileOf("{\"__metadata__\":{\"a\":\"b\"}," + tensor("a", "U8", "[4]", "[0,4]") + "," +
                 tensor("b", "I16", "[2]", "[4,8]") + "}",
             "abcdefgh");
  ASSERT_TRUE(statusOf(good).ok());
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(statusOf(good.substr(0, size)).ok()) << size;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = good;
    changed[random() % good.size()] = static_cast<char>(random());
    auto parsed = Safetensors::parse(bytesOf(changed), "x");
    if (!parsed)
      continue;
    uint64_t bytes = 0;
    for (const Safetensors::Tensor &each : parsed->tensors())
      bytes += each.view().size();
    EXPECT_EQ(bytes, 8u);
  }
}

TEST(SafetensorsWriter, SortsAndAligns) {
  TemporaryFolder folder;
  auto bytes = Array::make(ElementType::u8, {3}), words = Array::make(ElementType::f64, {2});
  auto halves = Array::make(ElementType::bf16, {1, 1}), none = Array::make(ElementType::f32, {0});
  std::memset(bytes->bytes.data(), 1, 3);
  std::memset(words->bytes.data(), 2, 16);
  std::memset(halves->bytes.data(), 3, 2);
  const std::pair<std::string, ArrayView> arrays[] = {{"z", bytes->view()},
                                                      {"b", words->view()},
                                                      {"a", words->view()},
                                                      {"h\"\n", halves->view()},
                                                      {"", none->view()}};
  ASSERT_TRUE(writeSafetensors(folder / "x", arrays, {{"step", "7"}, {"a", "\xc3\xa9"}}).ok());
  const std::string header = R"({"__metadata__":{"a":")"
                             "\xc3\xa9"
                             R"(","step":"7"},)"
                             R"("a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"F64","shape":[2],"data_offsets":[16,32]},)"
                             R"("":{"dtype":"F32","shape":[0],"data_offsets":[32,32]},)"
                             R"("h\"\u000a":{"dtype":"BF16","shape":[1,1],"data_offsets":[32,34]},)"
                             R"("z":{"dtype":"U8","shape":[3],"data_offsets":[34,37]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(contentOf(folder / "x"),
            fileOf(padded, std::string(32, 2) + std::string(2, 3) + std::string(3, 1)));
  auto back = SafetensorsFile::open(folder / "x");
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(back->content().tensors()[3].name, "h\"\n");
  EXPECT_EQ(back->content().metadata().at("step"), "7");
}

TEST(SafetensorsWriter, RefusesNamesThatNobodyCouldReadBack) {
  TemporaryFolder folder;
  const std::string path = folder / "x";
  auto array = Array::make(ElementType::u8, {1});
  array->bytes.data()[0] = 0;
  const auto write = [&](std::vector<std::string> names, const Metadata &metadata = {}) {
    std::vector<std::pair<std::string, ArrayView>> arrays;
    for (const std::string &name : names)
      arrays.emplace_back(name, array->view());
    return writeSafetensors(path, arrays, metadata).message();
  };
  const std::string begin = "cannot write '" + path + "': ";
  EXPECT_EQ(write({"a", "a"}), begin + "a tensor is called 'a', which another one is, too");
  EXPECT_EQ(write({"__metadata__"}),
            begin + "a tensor is called '__metadata__', which is the file's own");
  EXPECT_EQ(write({"\xff"}), begin + "a tensor is called '\xff', which is not UTF-8");
  EXPECT_EQ(write({"a"}, {{"a", "\xff"}}), begin + "its metadata are not UTF-8");
  auto wide = SafetensorsWriter::create(path, {{"a", ElementType::f32, {INT64_MAX, 2}}}, {});
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.status().message(), begin + "tensor 'a' is too large");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SafetensorsWriter, AFullDiskLeavesTheOldFile) {
  TemporaryFolder folder;
  auto small = Array::make(ElementType::u8, {1}), large = Array::make(ElementType::u8, {1 << 20});
  std::memset(small->bytes.data(), 0, 1);
  std::memset(large->bytes.data(), 0, 1 << 20);
  const std::pair<std::string, ArrayView> before[] = {{"a", small->view()}};
  ASSERT_TRUE(writeSafetensors(folder / "x", before).ok());
  const std::string old = contentOf(folder / "x");
  // The nearest to a full disk that every machine has: files of this process end at 64 KiB.
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit less{64 << 10, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  const std::pair<std::string, ArrayView> after[] = {{"a", large->view()}};
  const Status status = writeSafetensors(folder / "x", after);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message(), "cannot write '" + (folder / "x") + "': file too large");
  EXPECT_EQ(contentOf(folder / "x"), old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(SafetensorsWriter, WritesWhatIsNoFileDirectly) {
  auto array = Array::make(ElementType::u8, {1});
  array->bytes.data()[0] = 0;
  const std::pair<std::string, ArrayView> arrays[] = {{"a", array->view()}};
  EXPECT_TRUE(writeSafetensors("/dev/null", arrays).ok());
  EXPECT_EQ(writeSafetensors("/dev/full", arrays).message(),
            "cannot write '/dev/full': no space left on device");
}

TEST(Safetensors, TextsAndNamesAsJSON) {
  auto metadata = parseMetadata(" {\"b\": \"2\", \"a\": \"\\\"\"} ");
  ASSERT_TRUE(metadata) << metadata.status().message();
  EXPECT_EQ(metadataText(*metadata), R"({"a":"\"","b":"2"})");
  EXPECT_TRUE(parseMetadata("")->empty());
  EXPECT_EQ(parseMetadata("{\"a\":1}").status().message(),
            "the metadata are not a JSON object of texts: byte 5: expected '\"'");
  EXPECT_EQ(parseMetadata("{} x").status().code(), StatusCode::invalidArgument);
  auto names = parseTensorNames("{\"a\": \"b\", \"c\": null}");
  ASSERT_TRUE(names) << names.status().message();
  EXPECT_EQ(*names, (TensorNames{{"a", "b"}, {"c", std::nullopt}}));
  EXPECT_EQ(parseTensorNames("[]").status().message(),
            "the map is not a JSON object of names: byte 0: expected '{'");
}
