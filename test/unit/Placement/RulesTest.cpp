// Rules and locks as text: what is read, what is refused and with which words.
#include "gantry/Placement/Rules.h"
#include "gantry/Placement/Lock.h"

#include <gtest/gtest.h>

namespace gantry::placement {
namespace {

TEST(Rules, P15_AreRead) {
  auto rule = parseRule("name:encoder.*=GPU:1");
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(rule->pattern.of, OpPattern::Of::name);
  EXPECT_EQ(rule->pattern.text, "encoder.*");
  EXPECT_EQ(rule->device.str(), "/device:GPU:1");
  // The last "=" counts, the first ":".
  EXPECT_EQ(parseRule("name:a=b:c=/task:1/device:CPU:0")->pattern.text, "a=b:c");
  // The subject may be left out.
  EXPECT_EQ(parseRule("Conv=GPU:1")->pattern.of, OpPattern::Of::nameOrOp);
  EXPECT_EQ(parseRule("Conv=GPU:1")->pattern.text, "Conv");
}

TEST(Rules, P15_ErrorsSayWhatIsExpected) {
  auto error = [](const char *text) { return parseRule(text).status().message(); };
  EXPECT_EQ(error("MatMul"), "--place 'MatMul' is not PATTERN=DEVICE, for example op:MatMul=GPU:1");
  EXPECT_EQ(error("type:MatMul=GPU:1"),
            "--place 'type:MatMul=GPU:1' has the unknown subject 'type'; known are op, name, kind");
  EXPECT_EQ(error("op:=GPU:1"), "--place 'op:=GPU:1' has no pattern; '*' matches everything");
  EXPECT_EQ(error("kind:weights=GPU:1"),
            "--place 'kind:weights=GPU:1' has the unknown kind 'weights'; known are compute, "
            "contraction, elementwise, reduction, movement, indexing, generator, opaque, view, "
            "constant, variable");
  EXPECT_TRUE(
      error("op:MatMul=TPU:1").starts_with("--place 'op:MatMul=TPU:1' has no valid device: "))
      << error("op:MatMul=TPU:1");
}

TEST(Rules, P15_FilesHaveCommentsAndLines) {
  auto rules = parseRules(
      "# all of them\n\n  op:MatMul=GPU:1  # the big ones\r\nkind:compute=CPU\n", "rules.txt");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].text, "op:MatMul=GPU:1");
  EXPECT_EQ((*rules)[0].origin, "rules.txt:3");
  EXPECT_EQ((*rules)[1].origin, "rules.txt:4");
  EXPECT_EQ(parseRules("op:MatMul=GPU:1\nop MatMul", "rules.txt").status().message(),
            "rules.txt:2 'op MatMul' is not PATTERN=DEVICE, for example op:MatMul=GPU:1");
}

std::optional<uint32_t> find(RuleSet &rules, std::string_view op, std::string_view name) {
  std::string_view kind = "compute";
  return rules.find({{&op, 1}, {&name, 1}, {&kind, 1}});
}

TEST(Rules, P15_TheFirstThatMatchesWins) {
  std::vector<Rule> given;
  for (const char *text :
       {"name:a*=GPU:0", "op:MatMul=GPU:1", "name:ab=CPU:0", "kind:compute=CPU:0", "op:Never=GPU"})
    given.push_back(*parseRule(text));
  RuleSet rules(given);
  EXPECT_EQ(find(rules, "MatMul", "ab"), 0u);
  EXPECT_EQ(find(rules, "MatMul", "b"), 1u);
  EXPECT_EQ(find(rules, "Relu", "c"), 3u);
  // Rule 2 matched, though another one won; rule 4 did not.
  EXPECT_EQ(rules.unmatched(), std::vector<uint32_t>{4});
}

TEST(Rules, P15_WithoutASubjectANameOrAType) {
  RuleSet rules({*parseRule("MatMul=GPU:1"), *parseRule("layer.{0..3}/*=GPU:0")});
  EXPECT_EQ(find(rules, "MatMul", "x"), 0u);
  EXPECT_EQ(find(rules, "Relu", "MatMul"), 0u);
  EXPECT_EQ(find(rules, "Relu", "layer.2/relu"), 1u);
  EXPECT_EQ(find(rules, "Relu", "layer.4/relu"), std::nullopt);
  EXPECT_TRUE(rules.unmatched().empty());
}

TEST(Lock, P13_RoundTrip) {
  DeviceName gpu = DeviceName::local(DeviceType::GPU, 1),
             cpu = DeviceName::local(DeviceType::CPU, 0);
  std::string text =
      formatLock({{"main", "b c", gpu, 0}, {"main", "a\n\\", cpu, 0}, {"f g", "x", cpu, 0}});
  EXPECT_EQ(text, "# gantry placement lock 1\n"
                  "f\\sg x /job:localhost/replica:0/task:0/device:CPU:0\n"
                  "main a\\n\\\\ /job:localhost/replica:0/task:0/device:CPU:0\n"
                  "main b c /job:localhost/replica:0/task:0/device:GPU:1\n");
  auto entries = parseLock(text);
  ASSERT_TRUE(entries.ok()) << entries.status().message();
  EXPECT_EQ((*entries)[0], (LockEntry{"f g", "x", cpu, 2}));
  EXPECT_EQ((*entries)[1], (LockEntry{"main", "a\n\\", cpu, 3}));
  EXPECT_EQ((*entries)[2], (LockEntry{"main", "b c", gpu, 4}));
  EXPECT_EQ(formatLock(entries.take()), text);
}

TEST(Lock, P13_ErrorsHaveTheLine) {
  auto error = [](const std::string &text) { return parseLock(text).status().message(); };
  const std::string head = "# gantry placement lock 1\n";
  EXPECT_EQ(error(""), "the placement lock is empty; the first line must be '# gantry placement "
                       "lock 1'");
  EXPECT_EQ(error("# gantry placement lock 2\n"),
            "not a placement lock of this version; the first line must be '# gantry placement lock "
            "1'");
  EXPECT_EQ(error(head + "# more\nmain GPU:1\n"), "line 3: expected FUNCTION NAME DEVICE");
  EXPECT_EQ(error(head + "main x GPU:1\n"),
            "line 2: 'GPU:1' is not a full device name, /job:J/replica:R/task:T/device:TYPE:ID");
  EXPECT_EQ(error(head + "main x\\q GPU:1\n"),
            "line 2: a backslash stands before none of n, r, s and \\");
  std::string line = "main x /job:localhost/replica:0/task:0/device:GPU:1\n";
  EXPECT_EQ(error(head + line + line), "line 3: 'x' is locked in line 2 already");
}

} // namespace
} // namespace gantry::placement
