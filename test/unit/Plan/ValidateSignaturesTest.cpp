// Launches against the signatures of their kernels: a plan whose code says what it takes, with one
// thing wrong, and the full text of the answer.
#include "SamplePlan.h"

#include "gantry/Plan/SaidOfCode.h"
#include "gantry/Support/Hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace {
using namespace gantry;
using namespace gantry::plan;
using namespace gantry::plan::test;

fb::SignatureT &addSignature(Sample &sample, const char *symbol, std::vector<uint64_t> reads) {
  auto signature = std::make_unique<fb::SignatureT>();
  signature->symbol = symbol;
  signature->reads = std::move(reads);
  signature->writes = {32};
  signature->items = 8;
  sample.plan.code[0]->signatures.push_back(sample.plan.signatures.size());
  sample.plan.signatures.push_back(std::move(signature));
  return *sample.plan.signatures.back();
}

/// Kernel 0 reads two buffers, kernel 1 reads one; both write one, of 32 bytes.
Sample makeSignedSample() {
  Sample sample = makeSample();
  sample.plan.code[0]->content_hash = hashBytes(Bytes(1000, 0x90));
  addSignature(sample, "add_0", {32, 32});
  addSignature(sample, "move_0", {32});
  sample.plan.kernels.push_back(std::make_unique<fb::KernelT>());
  sample.plan.kernels[1]->symbol = "move_0";
  for (auto &kernel : sample.plan.kernels)
    addVariant(*kernel, "host");
  sample.command(1, 0).kernel = sample.command(4, 0).kernel = 1;
  setSaidHashes(sample.plan);
  return sample;
}

std::string refusal(const std::function<void(Sample &)> &change) {
  Sample sample = makeSignedSample();
  change(sample);
  const auto &all = sample.plan.code[0]->signatures;
  if (std::ranges::all_of(all, [&](uint32_t i) { return i < sample.plan.signatures.size(); }))
    setSaidHashes(sample.plan);
  const std::string message = sample.writer.toBytes(sample.plan).status().message();
  const std::string head = "the compiler made an invalid plan: plan metadata: ";
  return message.starts_with(head) ? message.substr(head.size()) : message;
}

fb::SignatureT &first(Sample &sample) { return *sample.plan.signatures[0]; }
fb::VariantT &variantOf(Sample &sample, size_t kernel) {
  return *sample.plan.kernels[kernel]->variants[0];
}

/// The plan's GPU is one of CUDA, and runs kernel 1 in blocks.
void useCUDA(Sample &sample) {
  sample.plan.devices[1]->driver = "cuda";
  auto code = std::make_unique<fb::CodeT>(*sample.plan.code[0]);
  code->kind = fb::CodeKind::ptx;
  code->signatures.clear();
  sample.plan.code.push_back(std::move(code));
  fb::SignatureT &signature = addSignature(sample, "move_0", {32});
  std::swap(sample.plan.code[0]->signatures, sample.plan.code[1]->signatures);
  sample.plan.code[0]->signatures = {0, 1};
  sample.plan.code[1]->signatures = {2};
  fb::VariantT &variant = addVariant(*sample.plan.kernels[1], "cuda");
  variant.code = 1;
  signature.grid = std::make_unique<fb::Extent>(4, 1, 1);
  signature.block = std::make_unique<fb::Extent>(256, 1, 1);
  variant.grid = std::make_unique<fb::Extent>(4, 1, 1);
  variant.block = std::make_unique<fb::Extent>(256, 1, 1);
}

TEST(Signatures, TheSampleIsAccepted) {
  EXPECT_EQ(refusal([](Sample &) {}), "");
  EXPECT_EQ(refusal(useCUDA), "");
}

TEST(Signatures, OlderPlansAreTrusted) {
  EXPECT_EQ(refusal([](Sample &s) {
              s.plan.signatures.clear();
              s.plan.code[0]->signatures.clear();
              s.plan.code[0]->content_hash = 0;
              s.command(0, 0).items = 1000;
              s.command(0, 0).buffers[0] = inInput(0, 0, 16);
            }),
            "");
}

TEST(Signatures, AKernelFromBeforeVariantsIsHeldToItsFunction) {
  EXPECT_EQ(refusal([](Sample &s) { s.plan.kernels[0]->variants.clear(); }), "");
  EXPECT_EQ(refusal([](Sample &s) {
              s.plan.kernels[0]->variants.clear();
              s.command(0, 0).items = 9;
            }),
            "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' has 8 work items, "
            "the launch asks for 9");
  EXPECT_EQ(refusal([](Sample &s) {
              useCUDA(s);
              s.plan.kernels[1]->variants.clear();
              s.plan.kernels[1]->code = 1;
            }),
            "kernels[1]: it has no variants, and its function has a grid");
}

TEST(Signatures, AVariantMayHaveItemsOfItsOwn) {
  EXPECT_EQ(refusal([](Sample &s) {
              s.command(0, 0).items = 1;
              variantOf(s, 0).items = 8;
            }),
            "");
}

TEST(Signatures, OnlyVariantsOfTheDevicesDriversCount) {
  auto otherWork = [](Sample &s) {
    addVariant(*s.plan.kernels[0], "sim").code = 1;
    s.plan.code.push_back(std::make_unique<fb::CodeT>(*s.plan.code[0]));
    s.plan.code[1]->signatures = {static_cast<uint32_t>(s.plan.signatures.size())};
    s.plan.signatures.push_back(std::make_unique<fb::SignatureT>(*s.plan.signatures[0]));
    s.plan.signatures.back()->items = 2;
  };
  EXPECT_EQ(refusal(otherWork), "");
  EXPECT_EQ(refusal([&](Sample &s) {
              otherWork(s);
              s.plan.devices[0]->also = {"sim"};
              addVariant(*s.plan.kernels[1], "sim");
            }),
            "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' has 2 work items, "
            "the launch asks for 8");
}

TEST(Signatures, ScratchMemoryMayBeMoreThanAFunctionTakes) {
  auto withScratch = [](uint64_t there) {
    return [there](Sample &s) {
      first(s).scratch = 64;
      s.command(0, 0).buffers.push_back(inArena(2, 256, there));
      s.command(0, 0).num_results = 2;
      s.command(0, 0).has_scratch = true;
    };
  };
  EXPECT_EQ(refusal(withScratch(64)), "");
  EXPECT_EQ(refusal(withScratch(128)), "");
  EXPECT_EQ(refusal(withScratch(63)),
            "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' takes 64 bytes of "
            "scratch memory, the launch has 63");
  EXPECT_EQ(refusal([](Sample &s) { first(s).scratch = 64; }),
            "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' takes 64 bytes of "
            "scratch memory, the launch has 0");
  EXPECT_EQ(refusal([&](Sample &s) {
              withScratch(64)(s);
              s.command(0, 0).buffers.back() = inArena(2, 64, 64);
            }),
            "function 'main', block 0, command 0 (launch 'add'): buffers 2 and 3 overlap, which "
            "kernel 'add_0' takes for different memory");
}

TEST(Signatures, ResultsLieOverOperandsWhereTheCodeKnows) {
  auto inPlace = [](Sample &s) { s.command(4, 0).buffers[1] = inArena(2, 128, 32); };
  const char *refused = "function 'main', block 4, command 0 (launch 'add'): buffers 0 and 1 "
                        "overlap, which kernel 'move_0' takes for different memory";
  EXPECT_EQ(refusal(inPlace), refused);
  EXPECT_EQ(refusal([&](Sample &s) {
              inPlace(s);
              s.plan.signatures[1]->same = {{0, 0}};
            }),
            "");
  EXPECT_EQ(refusal([&](Sample &s) { // not the same bytes
              s.command(4, 0).buffers = {inArena(2, 64, 32), inArena(2, 64, 32)};
              s.command(4, 0).buffers[1] = inArena(2, 0, 32);
              s.plan.signatures[1]->reads = {128};
              s.command(4, 0).buffers[0] = inArena(2, 0, 128);
              s.command(1, 0).buffers[0] = inArena(2, 0, 128);
              s.plan.signatures[1]->same = {{0, 0}};
            }),
            refused);
}

struct Rule {
  const char *name;
  std::function<void(Sample &)> change;
  const char *message;
};

const Rule rules[] = {
    {"Symbol", [](Sample &s) { first(s).symbol = ""; }, "signatures[0]: it has no symbol"},
    {"HugeOperand", [](Sample &s) { first(s).reads[1] = uint64_t(1) << 63; },
     "signatures[0]: a buffer of 9223372036854775808 bytes"},
    {"HugeScratch", [](Sample &s) { first(s).scratch = UINT64_MAX; },
     "signatures[0]: 18446744073709551615 bytes of scratch memory"},
    {"SameOperand", [](Sample &s) { first(s).same = {{2, 0}}; }, "signatures[0]: operand 2 of 2"},
    {"SameResult", [](Sample &s) { first(s).same = {{0, 1}}; }, "signatures[0]: result 1 of 1"},
    {"SameTooOften",
     [](Sample &s) { first(s).same = std::vector<fb::SameBuffer>(17, fb::SameBuffer(0, 0)); },
     "signatures[0]: 17 pairs of operand and result"},
    {"Alignment", [](Sample &s) { first(s).alignment = 48; },
     "signatures[0]: an alignment of 48 bytes"},
    {"AlignmentOverArenas", [](Sample &s) { first(s).alignment = 128; },
     "signatures[0]: an alignment of 128 bytes"},
    {"Items", [](Sample &s) { first(s).items = uint64_t(1) << 63; },
     "signatures[0]: 9223372036854775808 work items"},
    {"Grid", [](Sample &s) { first(s).grid = std::make_unique<fb::Extent>(0, 1, 1); },
     "signatures[0]: a side of 0 in its grid or block"},
    {"Block", [](Sample &s) { first(s).block = std::make_unique<fb::Extent>(64, 64, 1); },
     "signatures[0]: a block of 64 x 64 x 1 threads, at most 1024"},
    {"Index", [](Sample &s) { s.plan.code[0]->signatures[1] = 2; }, "code[0]: signature 2 of 2"},
    {"FunctionTwice", [](Sample &s) { s.plan.code[0]->signatures[1] = 0; },
     "code[0]: it has the function 'add_0' twice"},
    {"NoSignatures",
     [](Sample &s) { s.plan.code[0]->signatures.clear(), s.plan.code[0]->content_hash = 0; },
     "code[0]: it has no signatures, and the plan has some"},
    {"NoneInThePlan", [](Sample &s) { s.plan.signatures.clear(); },
     "code[0]: it has signatures, and the plan has none"},
    {"NoHash", [](Sample &s) { s.plan.code[0]->content_hash = 0; },
     "code[0]: it has signatures, and no content_hash"},
    {"HashAlone", [](Sample &s) { s.plan.signatures.clear(), s.plan.code[0]->signatures.clear(); },
     "code[0]: it has a content_hash, and no signatures"},
    {"UnknownFunction", [](Sample &s) { variantOf(s, 0).symbol = "add_1"; },
     "kernels[0], variants[0]: code 0 has no function 'add_1'"},
    {"UnknownKernel", [](Sample &s) { s.plan.kernels[0]->symbol = "add_1"; },
     "kernels[0], variants[0]: code 0 has no function 'add_1'"},
    {"UnknownOldKernel",
     [](Sample &s) { s.plan.kernels[0]->symbol = "add_1", s.plan.kernels[0]->variants.clear(); },
     "kernels[0]: code 0 has no function 'add_1'"},
    {"OtherGrid",
     [](Sample &s) {
       useCUDA(s);
       s.plan.kernels[1]->variants[1]->grid = std::make_unique<fb::Extent>(4, 2, 1);
     },
     "kernels[1], variants[1]: its grid, block or shared memory is not that of the function "
     "'move_0'"},
    {"OtherShared",
     [](Sample &s) {
       useCUDA(s);
       s.plan.kernels[1]->variants[1]->shared_memory = 16;
     },
     "kernels[1], variants[1]: its grid, block or shared memory is not that of the function "
     "'move_0'"},
    {"MoreOperands", [](Sample &s) { s.command(4, 0).buffers.push_back(inArena(2, 256, 32)); },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'move_0' takes 1 operands and "
     "gives 1 results, the launch has 2 and 1"},
    {"FewerOperands",
     [](Sample &s) { s.command(4, 0).buffers.erase(s.command(4, 0).buffers.begin()); },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'move_0' takes 1 operands and "
     "gives 1 results, the launch has 0 and 1"},
    {"OperandAsResult", [](Sample &s) { s.command(4, 0).num_results = 2; },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'move_0' takes 1 operands and "
     "gives 1 results, the launch has 0 and 2"},
    {"ResultAsOperand", [](Sample &s) { s.command(4, 0).num_results = 0; },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'move_0' takes 1 operands and "
     "gives 1 results, the launch has 2 and 0"},
    {"ResultAsScratch", [](Sample &s) { s.command(4, 0).has_scratch = true; },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'move_0' takes 1 operands and "
     "gives 1 results, the launch has 1 and 0"},
    {"OtherKernel", [](Sample &s) { s.command(4, 0).kernel = 0; },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'add_0' takes 2 operands and "
     "gives 1 results, the launch has 1 and 1"},
    {"SmallOperand", [](Sample &s) { s.command(4, 0).buffers[0] = inArena(2, 128, 31); },
     "function 'main', block 4, command 0 (launch 'add'): buffer 0 has 31 bytes, kernel 'move_0' "
     "takes 32"},
    {"LargeResult", [](Sample &s) { s.command(4, 0).buffers[1] = inArena(2, 192, 64); },
     "function 'main', block 4, command 0 (launch 'add'): buffer 1 has 64 bytes, kernel 'move_0' "
     "takes 32"},
    {"FewerItems", [](Sample &s) { s.command(4, 0).items = 7; },
     "function 'main', block 4, command 0 (launch 'add'): kernel 'move_0' has 8 work items, the "
     "launch asks for 7"},
    {"VariantsItems", [](Sample &s) { variantOf(s, 0).items = 16; },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' has 8 work items, the "
     "launch asks for 16"},
};

class SignatureRule : public testing::TestWithParam<Rule> {};

TEST_P(SignatureRule, IsChecked) { EXPECT_EQ(refusal(GetParam().change), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(Plan, SignatureRule, testing::ValuesIn(rules),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Signatures, WhatIsSaidOfCodeIsWhatItsHashSays) {
  const std::function<void(Sample &)> changes[] = {
      [](Sample &s) { s.plan.code[0]->features.pop_back(); },
      [](Sample &s) { s.plan.code[0]->features[0] = "avx"; },
      [](Sample &s) { s.plan.code[0]->target = "x86-65"; },
      [](Sample &s) { std::swap(s.plan.code[0]->signatures[0], s.plan.code[0]->signatures[1]); },
      [](Sample &s) { first(s).symbol = "add_00"; },
      [](Sample &s) { first(s).reads[0] = 31; },
      [](Sample &s) { std::swap(first(s).reads, first(s).writes); },
      [](Sample &s) { first(s).scratch = 1; },
      [](Sample &s) { first(s).same = {{1, 0}}; },
      [](Sample &s) { first(s).alignment = 32; },
      [](Sample &s) { first(s).items = 9; },
      [](Sample &s) { first(s).grid = std::make_unique<fb::Extent>(1, 1, 1); },
      [](Sample &s) { first(s).block = std::make_unique<fb::Extent>(1, 1, 1); },
      [](Sample &s) { first(s).shared_memory = 1; },
      [](Sample &s) { s.plan.code[0]->said_hash += 1; },
  };
  for (const auto &change : changes) {
    Sample sample = makeSignedSample();
    change(sample);
    EXPECT_EQ(sample.writer.toBytes(sample.plan).status().message(),
              "the compiler made an invalid plan: plan metadata: code[0]: said_hash is not that of "
              "what is said of it");
  }
}

TEST(Signatures, CodeIsTheBytesThatItsHashSays) {
  Sample sample = makeSignedSample();
  sample.plan.code[0]->size = 999; // cut off: what a loader would trip over
  const Bytes bytes = sample.bytes();
  ASSERT_FALSE(bytes.empty());
  Expected<PlanFile> file = PlanFile::copyOf(bytes);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(),
            "plan file: code[0]: content_hash is not that of its bytes; the file is damaged");
  EXPECT_TRUE(PlanFile::copyOf(makeSignedSample().bytes()).ok());
}

} // namespace
