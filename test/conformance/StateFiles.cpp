// Files of variables on each driver: the same values give the same bytes wherever they live, and
// what was saved on one kind of device loads on another.
#include "EachDriverTest.h"
#include "Runtime/PlanBuilder.h"
#include "TemporaryFolder.h"
#include "gantry/Runtime/StateFile.h"

#include <fstream>
#include <iterator>

namespace gantry::runtime::test {
namespace {

const std::vector<float> vs = {1, 2, 3, 4, 5}, ws = {6, 7};

class StateFiles : public EachDriverTest {
protected:
  /// v, with a mirror where there are replicas, and w, on one device; w holds 1s at first.
  static PlanBuilder planOn(const std::string &driver, bool isMirrored) {
    PlanBuilder b;
    uint32_t device = 0;
    if (driver != "host") {
      device = b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", driver);
      b.plan.devices[device]->physical = 0;
    }
    const uint32_t arena = b.addArena(fb::ArenaKind::variables, 192, device);
    b.addVariable("v", arena, 0, {5});
    b.addVariable("w", arena, 64, {1, 2});
    b.setInitialValue("w", {1, 1});
    if (isMirrored) {
      b.addVariable("v/replica_1", arena, 128, {5});
      b.plan.variables.back()->mirror_of = "v";
    }
    b.addFunction("main");
    return b;
  }

  std::shared_ptr<State> stateOn(const std::string &driver, bool isMirrored) const {
    auto plan = planOn(driver, isMirrored).load(makeRuntime());
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    auto state = State::create(*plan);
    EXPECT_TRUE(state.ok()) << state.status().message();
    return state.take();
  }

  static std::vector<float> valuesOf(const State &state, const char *name, size_t count) {
    std::vector<float> values(count);
    EXPECT_OK(state.read(name, values.data()));
    return values;
  }

  static std::string contentOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder;
};

TEST_P(StateFiles, p8_go_from_one_kind_of_device_to_another) {
  auto there = stateOn(GetParam().inPlans, /*isMirrored=*/true);
  auto here = stateOn("host", /*isMirrored=*/false);
  ASSERT_OK(there->write("v", vs.data()));
  ASSERT_OK(there->write("w", ws.data()));
  ASSERT_OK(saveState(*there, folder / "there", {{"step", "1"}}));
  ASSERT_OK(loadState(*here, folder / "there", {}));
  EXPECT_EQ(valuesOf(*here, "v", 5), vs);
  EXPECT_EQ(valuesOf(*here, "w", 2), ws);
  ASSERT_OK(saveState(*here, folder / "here", {{"step", "1"}}));
  EXPECT_EQ(contentOf(folder / "here"), contentOf(folder / "there"));

  auto fresh = stateOn(GetParam().inPlans, /*isMirrored=*/true);
  ASSERT_OK(loadState(*fresh, folder / "here", {}));
  EXPECT_EQ(valuesOf(*fresh, "v", 5), vs);
  EXPECT_EQ(valuesOf(*fresh, "v/replica_1", 5), vs);
  EXPECT_EQ(valuesOf(*fresh, "w", 2), ws);
}

TEST_P(StateFiles, change_nothing_where_one_value_does_not_fit) {
  auto state = stateOn(GetParam().inPlans, /*isMirrored=*/true);
  const int64_t five[] = {5}, two[] = {2};
  const auto bytes = [](const std::vector<float> &values) {
    return reinterpret_cast<const uint8_t *>(values.data());
  };
  const NamedView values[] = {{"v", {ElementType::f32, five, bytes(vs)}},
                              {"w", {ElementType::f32, two, bytes(ws)}}};
  ASSERT_OK(arrays::writeSafetensors(folder / "x", values));
  const Status status = loadState(*state, folder / "x", {});
  EXPECT_EQ(status.code(), StatusCode::invalidArgument);
  EXPECT_EQ(status.message(),
            "variable 'w' is f32[1,2], but '" + (folder / "x") + "' holds f32[2]");
  EXPECT_EQ(valuesOf(*state, "v", 5), std::vector<float>(5));
  EXPECT_EQ(valuesOf(*state, "w", 2), (std::vector<float>{1, 1}));
}

INSTANTIATE_TEST_SUITE_P(, StateFiles, ::testing::ValuesIn(everyDriver()), nameOf);

} // namespace
} // namespace gantry::runtime::test
