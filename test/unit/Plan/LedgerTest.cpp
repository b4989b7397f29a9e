// What a plan copies, by kind, cause and time (spec X3).
#include "SamplePlan.h"

#include "gantry/Plan/Ledger.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;
using namespace gantry::plan;
using namespace gantry::plan::test;

constexpr uint32_t cpu = 0, gpu = 1;

/// A verified plan from the sample after a change.
PlanFile fileOf(Sample &sample) {
  auto buffer = std::make_shared<AlignedBuffer>(sample.writer.toBytes(sample.plan).take());
  return PlanFile::fromBytes(buffer->bytes(), buffer).take();
}

Ledger ledgerOf(const PlanFile &file) {
  return Ledger::of(file.plan(), *file.plan().functions()->Get(0));
}

/// Moves constant 0 of the sample, which the first launch reads, to an arena of the GPU.
void moveConstant(Sample &sample, uint32_t home) {
  addArena(sample.plan, gpu, fb::ArenaKind::constants, 128);
  sample.plan.arenas.back()->lower_bound = 0;
  auto &constant = *sample.plan.constants[0];
  constant.arena = static_cast<uint32_t>(sample.plan.arenas.size() - 1);
  constant.home = home;
  constant.cause = 0;
  sample.command(0, 0).buffers[1] = inArena(constant.arena, 0, 32);
  sample.command(0, 0).device = gpu;
  sample.command(0, 0).buffers[0] = inArena(3, 64, 32);
  sample.command(0, 0).buffers[2] = inArena(3, 128, 32);
}

TEST(Ledger, CountsByKindAndDevice_x3) {
  Sample sample = makeSample();
  const PlanFile file = fileOf(sample);
  const Ledger ledger = ledgerOf(file);
  const CopyCount one = {1, 32}, none = {};
  EXPECT_EQ(ledger.perRun[gpu][fb::CopyKind::hostToDevice], one);
  EXPECT_EQ(ledger.perRun[cpu][fb::CopyKind::deviceToHost], one);
  EXPECT_EQ(ledger.perRun[cpu][fb::CopyKind::sameDevice], one);
  EXPECT_EQ(ledger.totalPerRun()[fb::CopyKind::deviceToDevice], none);
  EXPECT_EQ(ledger.totalPerRun().betweenDevices(), (CopyCount{2, 64}));
  EXPECT_EQ(ledger.totalAtLoad(), CopyTally());
  EXPECT_EQ(ledger.totalInside(), CopyTally());
}

TEST(Ledger, ListsWhatMovesBetweenDevices_p9) {
  Sample sample = makeSample();
  const PlanFile file = fileOf(sample);
  const Ledger ledger = ledgerOf(file);
  ASSERT_EQ(ledger.copies.size(), 2u);
  EXPECT_EQ(ledger.copies[0].from, cpu);
  EXPECT_EQ(ledger.copies[0].to, gpu);
  EXPECT_EQ(ledger.copies[0].cause, "operand 0 of 'add'");
  EXPECT_EQ(ledger.copies[0].time, CopyTime::run);
  EXPECT_EQ(copyKindName(ledger.copies[1].kind), "d2h");
  EXPECT_EQ(ledger.copies[0].name, "");
}

TEST(Ledger, AConstantAwayFromHomeIsACopyAtLoad_x2) {
  Sample sample = makeSample();
  moveConstant(sample, cpu);
  const PlanFile file = fileOf(sample);
  const Ledger ledger = ledgerOf(file);
  ASSERT_EQ(ledger.copies.size(), 3u);
  EXPECT_EQ(ledger.copies[0].time, CopyTime::load);
  EXPECT_EQ(ledger.copies[0].bytes, 100u);
  EXPECT_EQ(ledger.copies[0].name, "w");
  EXPECT_EQ(ledger.copies[0].cause, "operand 0 of 'add'");
  EXPECT_EQ(ledger.atLoad[gpu][fb::CopyKind::hostToDevice], (CopyCount{1, 100}));
  EXPECT_EQ(copiesAtLoad(file.plan()), ledger.atLoad);
}

/// The first constant is used, whatever begins at the same place.
TEST(Ledger, AConstantWithoutElementsHidesNoOther_x2) {
  Sample sample = makeSample();
  moveConstant(sample, cpu);
  sample.plan.constants.push_back(std::make_unique<fb::ConstantT>(*sample.plan.constants[0]));
  sample.plan.constants.back()->size = 0;
  sample.plan.constants.back()->content_hash = hashBytes({});
  const PlanFile file = fileOf(sample);
  EXPECT_EQ(ledgerOf(file).atLoad[gpu][fb::CopyKind::hostToDevice], (CopyCount{1, 100}));
}

TEST(Ledger, ATransferOfSeveralValuesNamesEach_x5) {
  Sample sample = makeSample();
  addToCopy(sample.command(0, 1), inInput(0, 0, 16), inArena(3, 32, 16));
  const PlanFile file = fileOf(sample);
  const Ledger ledger = ledgerOf(file);
  ASSERT_EQ(ledger.copies.size(), 3u);
  EXPECT_FALSE(ledger.copies[0].joined);
  EXPECT_TRUE(ledger.copies[1].joined);
  EXPECT_FALSE(ledger.copies[2].joined);
  EXPECT_EQ(ledger.copies[1].command, ledger.copies[0].command);
  EXPECT_EQ(ledger.copies[1].name, "x");
  EXPECT_EQ(ledger.copies[1].bytes, 16u);
  EXPECT_EQ(ledger.copies[1].cause, "operand 0 of 'add'");
  EXPECT_EQ(ledger.copies[1].location, "graph:2");
  EXPECT_EQ(ledger.perRun[gpu][fb::CopyKind::hostToDevice], (CopyCount{2, 48, 1}));
  EXPECT_EQ(ledger.totalPerRun().betweenDevices(), (CopyCount{3, 80, 2}));
}

TEST(Ledger, AnInputGoesByItsName) {
  Sample sample = makeSample();
  sample.command(0, 1).buffers[0] = inInput(0, 0, 32);
  const PlanFile file = fileOf(sample);
  EXPECT_EQ(ledgerOf(file).copies[0].name, "x");
}

TEST(Ledger, AConstantAtHomeOrWithoutOneIsNone) {
  for (uint32_t home : {gpu, nothingSaid}) {
    Sample sample = makeSample();
    moveConstant(sample, home);
    const PlanFile file = fileOf(sample);
    EXPECT_EQ(ledgerOf(file).totalAtLoad(), CopyTally()) << home;
  }
}

TEST(Ledger, AFunctionHasTheConstantsThatItUses) {
  Sample sample = makeSample();
  moveConstant(sample, cpu);
  sample.command(0, 0).buffers[1] = inArena(3, 192, 32);
  const PlanFile file = fileOf(sample);
  EXPECT_EQ(ledgerOf(file).totalAtLoad(), CopyTally());
  EXPECT_EQ(copiesAtLoad(file.plan())[gpu][fb::CopyKind::hostToDevice], (CopyCount{1, 100}));
}

TEST(Ledger, CopiesInsideLoopsAreNotPerRun) {
  Sample sample = makeSample();
  sample.block(4).commands.push_back(
      copy(inArena(2, 192, 32), inArena(3, 32, 32), fb::CopyKind::hostToDevice, gpu));
  const PlanFile file = fileOf(sample);
  const Ledger ledger = ledgerOf(file);
  EXPECT_EQ(ledger.inside[gpu][fb::CopyKind::hostToDevice], (CopyCount{1, 32}));
  EXPECT_EQ(ledger.copies.back().time, CopyTime::inside);
  EXPECT_EQ(ledger.totalPerRun()[fb::CopyKind::hostToDevice], (CopyCount{1, 32}));
}

} // namespace
