// Variables over runs: read from archives, written to them, compared between replicas.
#include "ToolFixture.h"

#include "gantry/Formats/Safetensors.h"

#include <cstring>

using namespace gantry;
using namespace gantry::tool::test;

namespace {

/// Plans that add x to the variable v and give the sum: y = v += x, all f32[2].
class State : public GantryTool {
protected:
  /// With a mirror of v, which gets twice the value, when `mirrored`.
  void save(const std::string &name, bool mirrored, float scale = 1, const char *mirrorOf = "v") {
    using namespace gantry::runtime::test;
    PlanBuilder b;
    const std::string object = contentOf(GANTRY_TEST_KERNELS);
    const uint32_t add = b.addKernel("add_f32", b.addCode({object.begin(), object.end()}));
    const uint32_t variables = b.addArena(plan::fb::ArenaKind::variables, 128);
    b.addVariable("v", variables, 0, {2});
    if (mirrored) {
      b.addVariable("v_1", variables, 64, {2});
      b.plan.variables.back()->mirror_of = mirrorOf;
    }
    b.addFunction("main", true);
    b.addInput("x", {2});
    b.addOutput("y", {2});
    b.launch(add, {memory(variables, 0, 8), input(0, 8)}, {memory(variables, 0, 8)}, 2);
    if (mirrored)
      b.launch(add, {memory(variables, 64, 8), input(0, 8)}, {memory(variables, 64, 8)}, 2);
    if (scale != 1)
      b.launch(add, {memory(variables, 0, 8), input(0, 8)}, {memory(variables, 0, 8)}, 2);
    b.copy(memory(variables, 0, 8), output(0, 8));
    const plan::PlanFile file = b.file();
    write(folder / name,
          {reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()});
  }

  void SetUp() override {
    GantryTool::SetUp();
    save("v.gantry", false);
    save("m.gantry", true);
  }
};

} // namespace

TEST_F(State, GoesOnFromWhereItWas_p8) {
  EXPECT_EQ(gantry("run v.gantry --fill ones --repeat 3 --save-state v.npz").out,
            "y: f32[2] on CPU:0\n[3. 3.]\n");
  auto saved = readArrays(folder / "v.npz");
  ASSERT_TRUE(saved) << saved.status().message();
  EXPECT_EQ((*saved)[0].name, "v");
  EXPECT_EQ(valueAt((*saved)[0].array.view(), 1), 3.0);
  EXPECT_HAS(gantry("run v.gantry --fill ones --load-state v.npz").out, "[4. 4.]");
}

TEST_F(State, GoesOnFromASafetensorsFile_p8) {
  ASSERT_EQ(gantry("run m.gantry --fill ones --repeat 3 --save-state v.safetensors").status, 0);
  auto saved = SafetensorsFile::open(folder / "v.safetensors");
  ASSERT_TRUE(saved) << saved.status().message();
  ASSERT_EQ(saved->content().tensors().size(), 1u); // no mirror
  EXPECT_EQ(saved->content().tensors()[0].type(), "f32[2]");
  EXPECT_EQ(valueAt(saved->content().tensors()[0].view(), 1), 3.0);
  const Result next = gantry("run v.gantry --fill ones --load-state v.safetensors "
                             "--save-state v.safetensors");
  EXPECT_HAS(next.out, "[4. 4.]");
  EXPECT_HAS(gantry("run m.gantry --fill ones --load-state v.safetensors").out, "[5. 5.]");
}

TEST_F(State, NamesWhatIsWrongInASafetensorsFile) {
  auto array = Array::make(ElementType::f32, {3});
  std::memset(array->bytes.data(), 0, array->bytes.size());
  const std::pair<std::string, ArrayView> wide[] = {{"v", array->view()}};
  ASSERT_TRUE(writeSafetensors(folder / "wide.safetensors", wide).ok());
  const std::pair<std::string, ArrayView> other[] = {{"w", array->view()}};
  ASSERT_TRUE(writeSafetensors(folder / "other.safetensors", other).ok());
  write(folder / "torn.safetensors", std::string(5, '\0'));
  const auto load = [&](const std::string &file) {
    return gantry("run v.gantry --fill ones --load-state " + file).err;
  };
  EXPECT_HAS(load("wide.safetensors"), "gantry: error: variable 'v' is f32[2], but "
                                       "'wide.safetensors' holds f32[3]\n");
  EXPECT_HAS(load("other.safetensors"), "gantry: error: no variable is called 'w', which is in "
                                        "'other.safetensors'; the variables are v: f32[2]\n");
  EXPECT_HAS(load("torn.safetensors"),
             "gantry: error: 'torn.safetensors' is not a readable safetensors file: it has 5 "
             "bytes, and the length of the header alone takes 8\n");
  EXPECT_HAS(load("none.safetensors"),
             "gantry: error: cannot open 'none.safetensors': no such file or folder\n");
  save("two.gantry", true, 1, "");
  ASSERT_EQ(gantry("run v.gantry --fill ones --save-state v.safetensors").status, 0);
  EXPECT_HAS(gantry("run two.gantry --fill ones --load-state v.safetensors").err,
             "gantry: variable 'v_1' is not in 'v.safetensors' and keeps its initial value\n");
}

TEST_F(State, MirrorsGetWhatTheirVariableGets_r4) {
  ASSERT_EQ(gantry("run v.gantry --fill ones --save-state v.npz").status, 0);
  ASSERT_EQ(gantry("run m.gantry --fill ones --load-state v.npz --save-state m.npz").status, 0);
  auto saved = readArrays(folder / "m.npz");
  ASSERT_TRUE(saved);
  ASSERT_EQ(saved->size(), 1u); // no mirror
  EXPECT_EQ(valueAt((*saved)[0].array.view(), 0), 2.0);
}

TEST_F(State, NamesWhatIsWrong) {
  auto array = Array::make(ElementType::f32, {3});
  const std::pair<std::string, ArrayView> wide[] = {{"v", array->view()}};
  ASSERT_TRUE(writeNpz(folder / "wide.npz", wide).ok());
  const std::pair<std::string, ArrayView> other[] = {{"w", array->view()}};
  ASSERT_TRUE(writeNpz(folder / "other.npz", other).ok());
  EXPECT_HAS(gantry("run v.gantry --fill ones --load-state wide.npz").err,
             "gantry: error: variable 'v' is f32[2], but 'wide.npz' holds f32[3]\n");
  EXPECT_HAS(gantry("run v.gantry --fill ones --load-state other.npz").err,
             "gantry: error: no variable is called 'w', which is in 'other.npz'; the variables are "
             "v: f32[2]\n");
  EXPECT_HAS(gantry("run p.gantry --fill ones --load-state other.npz").err,
             "gantry: error: --load-state: the plan has no variables\n");
  EXPECT_HAS(gantry("run v.gantry --fill ones --save-state none/v.npz").err,
             "gantry: error: cannot write 'none/v.npz': there is no folder 'none'\n");
}

TEST_F(State, SaysWhatKeepsItsValue) {
  save("two.gantry", true, 1, "");
  ASSERT_EQ(gantry("run v.gantry --fill ones --save-state v.npz").status, 0);
  EXPECT_HAS(gantry("run two.gantry --fill ones --load-state v.npz").err,
             "gantry: variable 'v_1' is not in 'v.npz' and keeps its initial value\n");
}

TEST_F(State, ReplicasAreComparedWithOneDevice_r5) {
  compiler = fake;
  // The fake compiler makes the plan of the order that the flag decides.
  write(folder / "same.mlir",
        "plan " + (folder / "v.gantry") + "\nreplicated " + (folder / "m.gantry"));
  const Result same =
      gantry("run same.mlir --replicate GPU:0,GPU:1 --check-replicas --fill x=ramp");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_EQ(same.err,
            "gantry: input 'x': f32[2] filled with ramp, seed 0\n"
            "gantry: output 'y' of the replicas equals that of one device bit for bit\n"
            "gantry: variable 'v' of the replicas equals that of one device bit for bit\n"
            "gantry: variable 'v_1' of the replicas equals that of one device bit for bit\n"
            "gantry: variable 'v' is the same on all 2 replicas, bit for bit\n");
  save("other.gantry", true, 2);
  write(folder / "other.mlir",
        "plan " + (folder / "v.gantry") + "\nreplicated " + (folder / "other.gantry"));
  const Result other =
      gantry("run other.mlir --replicate GPU:0,GPU:1 --check-replicas --fill ones");
  EXPECT_EQ(other.status, 1);
  EXPECT_HAS(other.err,
             "gantry: error: output 'y' of the replicas differs from that of one device "
             "by more than 1e-5 of the largest value: max abs difference 1, the largest value is "
             "1\n");
  // What one mirror got and the other did not.
  EXPECT_HAS(other.err,
             "gantry: error: variable 'v' went apart on the replicas: CPU:0 and CPU:0 differ "
             "by up to 1, the largest value is 2; assign what is the same on every "
             "replica, as gantry.all_reduce gives it\n");
  EXPECT_HAS(gantry("run v.gantry --fill ones --check-replicas").err,
             "gantry: error: --check-replicas compiles the graph once more, for one device; "
             "'v.gantry' is a plan, give the graph\n");
}

TEST_F(State, RegionsAreComparedWithTheirFirstDevice_r5) {
  compiler = fake;
  // What holds for the placement of the replicas does not for one device, and a lock that was
  // written stays that of the replicas.
  write(folder / "regions.mlir",
        "flags\nplan " + (folder / "m.gantry") + "\nfirst " + (folder / "v.gantry"));
  const Result same = gantry("run regions.mlir --check-replicas --fill ones --place op:Add=CPU:0 "
                             "--placement-lock a --write-placement-lock b --max-copy d2d:0");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_HAS(same.err, "gantry: note: place=op:Add=CPU:0 placement-lock=a write-placement-lock=b "
                       "max-copy=d2d:0 scratch-above=");
  EXPECT_HAS(same.err, "gantry: note: place=op:Add=CPU:0 first-replica scratch-above=");
  EXPECT_HAS(same.err, "gantry: variable 'v_1' of the replicas equals that of one device bit for "
                       "bit\ngantry: variable 'v' is the same on all 2 replicas, bit for bit\n");
  write(folder / "none.mlir", "plan " + (folder / "v.gantry") + "\nfirst none");
  const Result none = gantry("run none.mlir --check-replicas --fill ones");
  EXPECT_EQ(none.status, 1);
  EXPECT_HAS(none.err, "gantry: this error is in the program for one device that --check-replicas "
                       "compares with\n");
}
