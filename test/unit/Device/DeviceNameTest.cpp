// The rules D1 to D3 of the specification, case by case and over random names.
#include "gantry/Device/DeviceName.h"

#include <gtest/gtest.h>

#include <random>

namespace {
using namespace gantry;

std::string canonical(std::string_view text) {
  Expected<DeviceName> name = DeviceName::parse(text);
  return name ? name->str() : name.status().message();
}

DeviceName parsed(std::string_view text) {
  Expected<DeviceName> name = DeviceName::parse(text);
  EXPECT_TRUE(name.ok()) << name.status().message();
  return name ? *name : DeviceName();
}

TEST(DeviceName, d1_full_name_prints_as_it_stands) {
  EXPECT_EQ(canonical("/job:localhost/replica:0/task:0/device:GPU:1"),
            "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT_TRUE(parsed("/job:localhost/replica:0/task:0/device:GPU:1").isFull());
}

TEST(DeviceName, d1_defaults_fill_the_task_only) {
  EXPECT_EQ(parsed("GPU:1").withDefaultTask().str(),
            "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT_EQ(parsed("GPU").withDefaultTask().str(), "/job:localhost/replica:0/task:0/device:GPU:*");
  EXPECT_EQ(parsed("/job:worker/task:2/GPU:0").withDefaultTask().str(),
            "/job:worker/replica:0/task:2/device:GPU:0");
  EXPECT_EQ(DeviceName::local(DeviceType::CPU, 0).str(),
            "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST(DeviceName, d1_tables_print_the_short_form) {
  EXPECT_EQ(parsed("/job:localhost/replica:0/task:0/GPU:3").shortStr(), "GPU:3");
  EXPECT_EQ(parsed("/physical_device:GPU:3").shortStr(), "GPU:3");
  EXPECT_EQ(parsed("gpu").shortStr(), "GPU:*");
  // Of other tasks the name alone would be another device's.
  for (const char *name : {"/job:worker/task:2/device:GPU:3", "/replica:1/device:GPU:*",
                           "/job:localhost/replica:0/task:1/device:CPU:0", "/job:worker"})
    EXPECT_EQ(parsed(name).shortStr(), name);
}

TEST(DeviceName, d2_accepted) {
  const std::pair<const char *, const char *> cases[] = {
      {"/device:GPU:1", "/device:GPU:1"},
      {"/job:worker/task:1", "/job:worker/task:1"},
      {"/task:1/job:worker", "/job:worker/task:1"},
      {"/device:cpu:0/task:3/replica:2/job:a", "/job:a/replica:2/task:3/device:CPU:0"},
      {"/GPU:1", "/device:GPU:1"},
      {"/gpu:1", "/device:GPU:1"},
      {"GPU:1", "/device:GPU:1"},
      {"gpu:1", "/device:GPU:1"},
      {"gPu:1", "/device:GPU:1"},
      {"GPU", "/device:GPU:*"},
      {"/gpu", "/device:GPU:*"},
      {"GPU:*", "/device:GPU:*"},
      {"/device:GPU:*", "/device:GPU:*"},
      {"/device:*", "/device:*"},
      {"/job:*/replica:*/task:*/device:*", "/device:*"},
      {"cuda:1", "/device:GPU:1"},
      {"cuda", "/device:GPU:0"},
      {"CUDA:0", "/device:GPU:0"},
      {"cpu", "/device:CPU:*"},
      {"/physical_device:GPU:0", "/physical_device:GPU:0"},
      {"/job:w/physical_device:gpu:2", "/job:w/physical_device:GPU:2"},
      {"/job:my_job-2.x/GPU:0", "/job:my_job-2.x/device:GPU:0"},
      {"GPU:007", "/device:GPU:7"},
      {"GPU:4294967295", "/device:GPU:4294967295"},
  };
  for (auto [text, expected] : cases)
    EXPECT_EQ(canonical(text), expected) << text;
}

TEST(DeviceName, d2_refused_with_the_column) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "the device name is empty; write a name like GPU:0 or /job:worker/task:1/device:GPU:0"},
      {"/", "device name '/', column 2: expected a device type; the types are CPU and GPU"},
      {"TPU:0",
       "device name 'TPU:0', column 1: 'TPU' is not a device type; the types are CPU and GPU"},
      {"/device:TPU:0", "device name '/device:TPU:0', column 9: 'TPU' is not a device type; the "
                        "types are CPU and GPU"},
      {"GPU:-1", "device name 'GPU:-1', column 5: a negative number; ids count from 0"},
      {"GPU:", "device name 'GPU:', column 5: expected a number (0, 1, ...) or '*'"},
      {"GPU:x", "device name 'GPU:x', column 5: expected a number (0, 1, ...) or '*'"},
      {"GPU:1x", "device name 'GPU:1x', column 6: unexpected text after the name"},
      {"GPU:1 ", "device name 'GPU:1 ', column 6: unexpected text after the name"},
      {"GPU:1/task:0", "device name 'GPU:1/task:0', column 6: unexpected text after the name"},
      {"GPU:4294967296", "device name 'GPU:4294967296', column 5: the number is over 4294967295"},
      {"/job:a/job:b", "device name '/job:a/job:b', column 7: the job is given twice"},
      {"/job:*/job:b", "device name '/job:*/job:b', column 7: the job is given twice"},
      {"/task:1/task:1", "device name '/task:1/task:1', column 8: the task is given twice"},
      {"/GPU:0/device:GPU:0",
       "device name '/GPU:0/device:GPU:0', column 7: the device is given twice"},
      {"/replica:a", "device name '/replica:a', column 10: expected a number (0, 1, ...) or '*'"},
      {"/replica", "device name '/replica', column 9: expected ':' and the replica's number"},
      {"/job:",
       "device name '/job:', column 6: expected the job's name, which starts with a letter"},
      {"/job:1",
       "device name '/job:1', column 6: expected the job's name, which starts with a letter"},
      {"/device:cuda:1", "device name '/device:cuda:1', column 9: 'cuda' is not a device type; the "
                         "types are CPU and GPU"},
      {"/job:a//GPU:0",
       "device name '/job:a//GPU:0', column 8: expected a device type; the types are CPU and GPU"},
      {"/GPU:0/", "device name '/GPU:0/', column 7: the device is given twice"},
  };
  for (auto [text, expected] : cases)
    EXPECT_EQ(canonical(text), expected) << text;
}

TEST(DeviceName, d3_matches_part_by_part) {
  DeviceName full = parsed("/job:worker/replica:0/task:1/device:GPU:2");
  for (const char *partial : {"GPU", "GPU:2", "/task:1", "/job:worker/GPU", "/device:*",
                              "/job:worker/replica:0/task:1/device:GPU:2"})
    EXPECT_TRUE(parsed(partial).matches(full)) << partial;
  for (const char *partial :
       {"CPU", "GPU:1", "/task:0", "/job:localhost", "/replica:1/GPU:2", "/physical_device:GPU:2"})
    EXPECT_FALSE(parsed(partial).matches(full)) << partial;
  // A part that is asked for and not there does not match.
  EXPECT_FALSE(full.matches(parsed("GPU:2")));
}

TEST(DeviceName, d3_inner_scope_wins_part_by_part) {
  auto merged = [](const char *outer, const char *inner) {
    return mergeScopes(parsed(outer), parsed(inner)).str();
  };
  EXPECT_EQ(merged("/job:a/task:1", "GPU:0"), "/job:a/task:1/device:GPU:0");
  EXPECT_EQ(merged("/job:a/task:1", "/task:2"), "/job:a/task:2");
  EXPECT_EQ(merged("GPU:1", "GPU:0"), "/device:GPU:0");
  EXPECT_EQ(merged("GPU:1", "GPU"), "/device:GPU:1");
  EXPECT_EQ(merged("GPU:1", "/device:*"), "/device:GPU:1");
}

TEST(DeviceName, d3_a_new_type_drops_the_inherited_id) {
  EXPECT_EQ(mergeScopes(parsed("GPU:1"), parsed("CPU")).str(), "/device:CPU:*");
  EXPECT_EQ(mergeScopes(parsed("/task:3/GPU:1"), parsed("CPU:0")).str(), "/task:3/device:CPU:0");
  EXPECT_EQ(mergeScopes(parsed("GPU:1"), parsed("/physical_device:GPU")).str(),
            "/physical_device:GPU:*");
}

DeviceName randomName(std::mt19937 &random) {
  auto chance = [&] { return random() % 2 == 0; };
  auto index = [&]() -> uint32_t { return chance() ? random() % 10 : random(); };
  DeviceName name;
  if (chance())
    name.job = std::string(1, char('a' + random() % 26)) + (chance() ? "_1-x.Y" : "");
  if (chance())
    name.replica = index();
  if (chance())
    name.task = index();
  if (chance()) {
    name.type = chance() ? DeviceType::CPU : DeviceType::GPU;
    if (chance())
      name.id = index();
  }
  name.physical = random() % 4 == 0;
  return name;
}

TEST(DeviceName, d2_parse_of_print_is_the_same_name) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    DeviceName name = randomName(random);
    Expected<DeviceName> again = DeviceName::parse(name.str());
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_EQ(*again, name) << name.str();
  }
}

TEST(DeviceName, d3_laws_of_matching_and_merging) {
  std::mt19937 random(2);
  const DeviceName nothing;
  for (int i = 0; i < 20000; ++i) {
    DeviceName a = randomName(random), b = randomName(random);
    ASSERT_TRUE(a.matches(a)) << a.str();
    DeviceName merged = mergeScopes(a, b);
    ASSERT_TRUE(b.physical && !b.type ? true : b.matches(merged)) << a.str() << " " << b.str();
    ASSERT_EQ(mergeScopes(a, a), a) << a.str();
    ASSERT_EQ(mergeScopes(a, nothing), a) << a.str();
    ASSERT_FALSE(merged.id && !merged.type);
  }
}

TEST(DeviceName, d3_scopes_merge_from_the_outermost_inwards) {
  // CPU in GPU:0 in CPU:5 is any CPU: the id was dropped on the way in and does not come back.
  DeviceName outer = parsed("CPU:5"), middle = parsed("GPU:0"), inner = parsed("CPU");
  EXPECT_EQ(mergeScopes(mergeScopes(outer, middle), inner).str(), "/device:CPU:*");
  EXPECT_EQ(mergeScopes(outer, mergeScopes(middle, inner)).str(), "/device:CPU:5");
}

TEST(DeviceName, AnyTextIsParsedOrRefused) {
  std::mt19937 random(3);
  const std::string alphabet = "/:*-0123456789GPUgpucdaCjobtskrevili_.physx ";
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (unsigned length = random() % 20; length != 0; --length)
      text += alphabet[random() % alphabet.size()];
    if (Expected<DeviceName> name = DeviceName::parse(text))
      ASSERT_EQ(parsed(name->str()), *name) << text;
  }
}

} // namespace
