// Plan files: written, read back, cut off, damaged.
#include "SampleJob.h"

#include "gantry/Plan/ProveOrder.h"

#include "gantry/Plan/Outline.h"
#include "gantry/Plan/Views.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace {
using namespace gantry;
using namespace gantry::plan;
using namespace gantry::plan::test;

std::string temporaryPath(const char *name) {
  return (std::filesystem::path(testing::TempDir()) /
          (std::string(name) + "." + std::to_string(::getpid())))
      .string();
}

std::string messageOf(const Bytes &bytes) { return PlanFile::copyOf(bytes).status().message(); }

TEST(PlanFile, RoundTripsThroughMemory) {
  Sample sample = makeSample();
  Bytes bytes = sample.bytes();
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  // Unpacked and packed again, it is the same plan.
  std::unique_ptr<fb::PlanT> again(file->plan().UnPack());
  Sample second = makeSample();
  second.plan = *again;
  EXPECT_EQ(second.bytes(), bytes);
  EXPECT_GT(useEverything(*file), 0u);
}

TEST(PlanFile, GivesAlignedBlobsInPlace) {
  Expected<PlanFile> file = PlanFile::copyOf(makeSample().bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::span<const uint8_t> second = file->bytesOf(*file->plan().constants()->Get(1));
  EXPECT_EQ(Bytes(second.begin(), second.end()), Bytes(100, 2));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.data()) % 64, 0u);
  EXPECT_GE(second.data(), file->bytes().data());
  EXPECT_EQ(file->numSegments(), 2u);
  EXPECT_EQ((file->segment(1).data() - file->bytes().data()) % 4096, 0);
  EXPECT_EQ(file->bytesOf(*file->plan().code()->Get(0)).size(), 1000u);
}

std::vector<uint64_t> metadataOf(const Sample &sample) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &sample.plan), fb::PlanIdentifier());
  std::vector<uint64_t> words(builder.GetSize() / 8 + 1);
  std::memcpy(words.data(), builder.GetBufferPointer(), builder.GetSize());
  return words;
}

/// The sample without what lies in segments.
Sample makeOutline() {
  Sample sample = makeSample();
  for (auto &constant : sample.plan.constants)
    if (constant->made == nothingSaid)
      constant->segment = nothingSaid, constant->segment_offset += bufferAlignment;
  for (auto &code : sample.plan.code)
    code->segment = nothingSaid, code->size = 0;
  sample.writer = PlanWriter();
  return sample;
}

TEST(PlanFile, OpensOutlines) {
  EXPECT_FALSE(isOutline(PlanFile::copyOf(makeSample().bytes())->plan()));
  Expected<PlanFile> file = PlanFile::copyOf(makeOutline().bytes());
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(isOutline(file->plan()));
  EXPECT_EQ(file->numSegments(), 0u);
  EXPECT_EQ(bytesLeftOut(file->plan()), 64u + 128 + 100); // two constants, the second of 100 bytes
  EXPECT_GT(useEverything(*file), 0u);
}

TEST(PlanFile, KnowsAnOutlineByItsCodeAlone) {
  Sample sample = makeOutline();
  std::erase_if(sample.plan.constants,
                [](auto &constant) { return constant->made == nothingSaid; });
  EXPECT_TRUE(isOutline(*fb::GetPlan(metadataOf(sample).data())));
  sample.plan.code[0]->segment = 0;
  EXPECT_FALSE(isOutline(*fb::GetPlan(metadataOf(sample).data())));
}

TEST(PlanFile, RefusesHalfAnOutline) {
  Sample withBytes = makeOutline();
  withBytes.plan.code[0]->size = 64;
  Status refused = withBytes.writer.toBytes(withBytes.plan).status();
  EXPECT_EQ(refused.message(), "the compiler made an invalid plan: plan metadata: code[0]: it has "
                               "bytes, and lies in no segment");
  Sample inSegment = makeOutline();
  inSegment.plan.constants[0]->segment = 0;
  EXPECT_EQ(inSegment.writer.toBytes(inSegment.plan).status().message(),
            "the compiler made an invalid plan: plan metadata: constants[0]: segment 0 of 0");
}

TEST(PlanFile, FileAndMemoryAreTheSameBytes) {
  Sample sample = makeSample();
  std::string path = temporaryPath("same.gantry");
  Status written = sample.writer.writeFile(sample.plan, path);
  ASSERT_TRUE(written.ok()) << written.message();
  Expected<PlanFile> file = PlanFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(Bytes(file->bytes().begin(), file->bytes().end()), sample.bytes());
  std::filesystem::remove(path);
}

TEST(PlanFile, LivesAsLongAsACopyOfIt) {
  std::string path = temporaryPath("life.gantry");
  Sample sample = makeSample();
  ASSERT_TRUE(sample.writer.writeFile(sample.plan, path).ok());
  std::optional<PlanFile> kept;
  {
    Expected<PlanFile> file = PlanFile::open(path);
    ASSERT_TRUE(file.ok());
    kept = *file;
  }
  std::filesystem::remove(path);
  EXPECT_EQ(textOf(kept->plan().producer()), "gantry test");
}

TEST(PlanFile, MissingFileSaysSo) {
  Expected<PlanFile> file = PlanFile::open("/nowhere/plan.gantry");
  EXPECT_EQ(file.status().code(), StatusCode::notFound);
  EXPECT_EQ(file.status().message(), "cannot open '/nowhere/plan.gantry': no such file or folder");
}

TEST(PlanFile, RefusesWhatIsNotAPlan) {
  EXPECT_EQ(messageOf({}), "plan file: it has 0 bytes, less than the header's 64");
  EXPECT_EQ(messageOf(Bytes(100, 'x')), "plan file: it does not start with 'GANTRYP1'");
  Bytes odd(200, 0);
  uint8_t *base = odd.data() + (64 - reinterpret_cast<uintptr_t>(odd.data()) % 64) + 1;
  EXPECT_EQ(PlanFile::fromBytes({base, 64}, nullptr).status().message(),
            "the bytes of a plan must start at a 64-byte boundary");
}

TEST(PlanFile, RefusesOtherVersionsByNumber) {
  Bytes bytes = makeSample().bytes();
  bytes[8] = 2;
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  EXPECT_EQ(file.status().code(), StatusCode::unsupported);
  EXPECT_EQ(file.status().message(), "plan file: format version 2.0, this gantry reads 1.0 to 1.0; "
                                     "compile the graph again");
}

TEST(PlanFile, EveryTruncationIsRefused) {
  Bytes bytes = makeSample().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Bytes cut(bytes.begin(), bytes.begin() + size);
    ASSERT_FALSE(PlanFile::copyOf(cut).ok()) << "cut to " << size;
    // Also when the header agrees with it.
    if (size >= sizeof(FileHeader)) {
      std::memcpy(cut.data() + offsetof(FileHeader, fileSize), &size, sizeof size);
      reseal(cut);
      ASSERT_FALSE(PlanFile::copyOf(cut).ok()) << "cut to " << size << " and sealed";
    }
  }
}

TEST(PlanFile, EveryFlippedByteIsRefused) {
  Bytes bytes = makeSample().bytes();
  std::mt19937 random(1);
  for (size_t at = 0; at < bytes.size(); ++at) {
    uint8_t old = bytes[at];
    bytes[at] ^= static_cast<uint8_t>(1 + random() % 255);
    ASSERT_FALSE(PlanFile::copyOf(bytes).ok()) << "byte " << at;
    bytes[at] = old;
  }
}

TEST(PlanFile, AppendedBytesAreRefused) {
  Bytes bytes = makeSample().bytes();
  bytes.push_back(0);
  EXPECT_NE(messageOf(bytes).find("cut off, or something was appended"), std::string::npos);
}

/// Damage of `count` bytes somewhere before `end`, sealed again: refused or harmless.
void damageAndUse(Bytes bytes, std::mt19937 &random, size_t end, unsigned count,
                  unsigned &accepted) {
  static constexpr uint8_t nasty[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 64, 4};
  for (unsigned i = 0; i < count; ++i)
    bytes[random() % end] =
        random() % 2 ? nasty[random() % sizeof nasty] : static_cast<uint8_t>(random());
  reseal(bytes);
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  if (file) {
    ++accepted;
    useEverything(*file);
    EXPECT_TRUE(proveOrder(file->plan()).ok()) << proveOrder(file->plan()).message();
  }
}

TEST(PlanFile, DamageUnderAFreshSealNeverCrashes) {
  for (const Bytes &bytes : {makeSample().bytes(), makeJob().bytes()}) {
    FileHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    size_t end = header.metadataOffset + header.metadataSize;
    std::mt19937 random(7);
    unsigned accepted = 0, total = 40000;
    for (unsigned round = 0; round < total; ++round)
      damageAndUse(bytes, random, end, 1 + random() % 3, accepted);
    // Harmless damage exists (a name, a count for the log), but most is found.
    EXPECT_LT(accepted, total / 2);
  }
}

TEST(PlanFile, EveryByteOfTheMetadataUnderAFreshSeal) {
  const Bytes bytes = makeSample().bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t at = 0; at < header.metadataOffset + header.metadataSize; ++at)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes damaged = bytes;
      damaged[at] = value;
      reseal(damaged);
      if (Expected<PlanFile> file = PlanFile::copyOf(damaged))
        useEverything(*file);
    }
}

TEST(PlanFile, AConstantWithAWrongHashIsRefused) {
  Sample sample = makeSample();
  sample.plan.constants[1]->content_hash ^= 1;
  Bytes bytes = sample.bytes();
  EXPECT_EQ(
      messageOf(bytes),
      "plan file: constants[1] 'b': content_hash is not that of its bytes; the file is damaged");
  EXPECT_TRUE(PlanFile::copyOf(bytes, {Check::metadataOnly}).ok());
}

TEST(PlanFile, MetadataOnlyDoesNotReadTheSegments) {
  Bytes bytes = makeSample().bytes();
  bytes.back() ^= 1; // in the padding after the code
  EXPECT_EQ(messageOf(bytes),
            "plan file: segment 1: the checksum does not match; the file is damaged");
  EXPECT_TRUE(PlanFile::copyOf(bytes, {Check::metadataOnly}).ok());
}

TEST(PlanFile, BytesBetweenPartsAreZero) {
  Bytes bytes = makeSample().bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  size_t at = header.metadataOffset + header.metadataSize + 1;
  bytes[at] = 1;
  EXPECT_EQ(messageOf(bytes),
            "plan file: byte " + std::to_string(at) + ", between two parts, is not zero");
}

/// A file whose constants end beyond 5 GiB, sparse: only its metadata is on the disk.
void writeSparsePlan(const std::string &path, uint64_t constantOffset, uint64_t constantSize) {
  Sample sample = makeSample();
  fb::PlanT &plan = sample.plan;
  plan.code.clear();
  plan.kernels[0]->custom = true;
  plan.constants.pop_back();
  plan.constants[0]->segment_offset = constantOffset;
  plan.constants[0]->size = constantSize;
  plan.arenas[0]->size = constantSize;
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishPlanBuffer(builder, fb::Plan::Pack(builder, &plan));

  // The front part with its table in front of the segment, which stays a hole.
  FileHeader header = {};
  std::memcpy(header.magic, fileMagic, sizeof fileMagic);
  header.versionMajor = formatMajor;
  header.headerSize = header.segmentTableOffset = sizeof header;
  header.segmentCount = 1;
  header.metadataOffset = 128;
  header.metadataSize = builder.GetSize();
  SegmentEntry entry = {};
  entry.offset = (header.metadataOffset + header.metadataSize + 4095) / 4096 * 4096;
  entry.size = constantOffset + constantSize;
  header.fileSize = entry.offset + entry.size;
  Bytes front(entry.offset);
  std::memcpy(front.data(), &header, sizeof header);
  std::memcpy(front.data() + sizeof header, &entry, sizeof entry);
  std::memcpy(front.data() + header.metadataOffset, builder.GetBufferPointer(), builder.GetSize());
  reseal(front);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(front.data()), static_cast<long>(front.size()));
  std::filesystem::resize_file(path, header.fileSize);
}

TEST(PlanFile, OffsetsBeyondFourGiBWork) {
  std::string path = temporaryPath("sparse.gantry");
  uint64_t offset = uint64_t(5) << 30, size = uint64_t(1) << 20;
  writeSparsePlan(path, offset, size);
  Expected<PlanFile> file = PlanFile::open(path, {Check::metadataOnly});
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::span<const uint8_t> constant = file->bytesOf(*file->plan().constants()->Get(0));
  EXPECT_EQ(constant.size(), size);
  EXPECT_EQ(constant.data() - file->segment(0).data(), static_cast<ptrdiff_t>(offset));
  EXPECT_EQ(constant.back(), 0);
  // One byte shorter it is refused, as any cut file.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_FALSE(PlanFile::open(path, {Check::metadataOnly}).ok());
  std::filesystem::remove(path);
}

TEST(PlanWriter, LeavesNothingBehindWhenItRefuses) {
  Sample sample = makeSample();
  sample.plan.functions[0]->blocks.clear();
  std::filesystem::path folder = temporaryPath("refused");
  std::filesystem::create_directory(folder);
  Status status = sample.writer.writeFile(sample.plan, (folder / "plan.gantry").string());
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_NE(status.message().find("the compiler made an invalid plan: "), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

TEST(PlanWriter, SaysWhyItCannotWrite) {
  Sample sample = makeSample();
  Status status = sample.writer.writeFile(sample.plan, "/nowhere/plan.gantry");
  EXPECT_EQ(status.code(), StatusCode::notFound);
}

TEST(PlanWriter, BorrowedBlobsAndOwnedOnesAreTheSame) {
  Bytes weights(70000, 3);
  PlanWriter borrowing, owning, making;
  borrowing.addSegment(SegmentKind::constants);
  owning.addSegment(SegmentKind::constants);
  making.addSegment(SegmentKind::constants);
  BlobRef a = borrowing.addBlob(0, std::span<const uint8_t>(weights));
  BlobRef b = owning.addBlob(0, weights);
  // Piece by piece, whenever they are wanted.
  unsigned times = 0;
  BlobRef c = making.addBlob(0, weights.size(), [&](const auto &sink) -> Status {
    ++times;
    std::span<const uint8_t> all(weights);
    GANTRY_RETURN_IF_ERROR(sink(all.first(3)));
    return sink(all.subspan(3));
  });
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.hash, c.hash);
  EXPECT_EQ(a.hash, hashBytes(weights));
  Sample sample = makeSample();
  sample.plan.constants.clear();
  sample.plan.code.clear();
  sample.plan.kernels[0]->custom = true;
  AlignedBuffer borrowed = borrowing.toBytes(sample.plan).take();
  auto expectSame = [&](const AlignedBuffer &other) {
    EXPECT_TRUE(std::ranges::equal(borrowed.bytes(), other.bytes()));
  };
  expectSame(owning.toBytes(sample.plan).take());
  expectSame(making.toBytes(sample.plan).take());
  EXPECT_EQ(times, 2u);
}

} // namespace
