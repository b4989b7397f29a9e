// What the driver says about placement and copies, on a plan for three devices.
#include "SeveralDevices.h"
#include "ToolFixture.h"

using namespace gantry;
using namespace gantry::tool::test;

namespace {

class Placement : public GantryTool {
protected:
  using Change = std::function<void(SeveralDevices &)>;

  /// Writes the plan after a change of its metadata.
  void save(const std::string &name, const Change &change = [](SeveralDevices &) {}) {
    const std::string object = contentOf(GANTRY_TEST_KERNELS);
    SeveralDevices builder({object.begin(), object.end()});
    change(builder);
    const plan::PlanFile file = builder.file();
    write(folder / name,
          {reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()});
  }

  void SetUp() override {
    GantryTool::SetUp();
    save("d.gantry");
  }

  const std::string device = "/job:localhost/replica:0/task:0/device:";
};

} // namespace

TEST_F(Placement, LogsOpsAndCopiesAsTheyHappen_p9) {
  const Result run = gantry("run d.gantry --fill ones --log-device-placement --output y.npy");
  EXPECT_EQ(run.status, 0) << run.err;
  const std::string cpu = device + "CPU:0", gpu0 = device + "GPU:0", gpu1 = device + "GPU:1";
  EXPECT_HAS(run.err, "Copying 16 bytes from " + cpu + " to " + gpu0 + " (once, at load)\n" +
                          "Copying 16 bytes from " + cpu + " to " + gpu0 + "\n" +
                          "Copying 16 bytes from " + cpu + " to " + gpu1 + "\n" +
                          "Executing op AddV2 in device " + gpu0 + "\n" +
                          "Executing op Mul in device " + gpu1 + "\n" + "Copying 16 bytes from " +
                          gpu1 + " to " + gpu0 + "\n" + "Executing op AddV2 in device " + gpu0 +
                          "\n" + "Copying 16 bytes from " + gpu0 + " to " + cpu + "\n" +
                          "placed 3 ops: GPU:0 2, GPU:1 1; 1 fall-back; 4 copies per run, 64 bytes "
                          "(h2d 2, d2h 1, d2d 1); 1 at load\n");
}

TEST_F(Placement, LogsAsJson_p9) {
  const Result run = gantry("run d.gantry --fill ones --log-device-placement=json --output y.npy");
  EXPECT_HAS(run.err, R"({"copy":{"name":"w","loc":"","bytes":16,"from":")" + device +
                          R"(CPU:0","to":")" + device +
                          R"(GPU:0","kind":"h2d","time":"load","cause":"operand 1 of 'first'"}})" +
                          "\n");
  EXPECT_HAS(run.err, R"({"op":"AddV2","name":"sum","loc":"model.mlir:3:8","device":")" + device +
                          R"(GPU:0","rule":"requested","reason":"","rejected":)" +
                          R"(["GPU:7: unknown device"],"fall_back":true})" + "\n");
}

TEST_F(Placement, CountersEqualTheLedger_x3) {
  const Result run = gantry("run d.gantry --fill ones -v --repeat 3 --output y.npy");
  EXPECT_EQ(run.status, 0);
  EXPECT_HAS(run.err, "gantry: copies counted as planned: 4 per run, 64 bytes (h2d 2, d2h 1, d2d "
                      "1); 1 at load, 16 bytes\n");
  EXPECT_HAS(run.err, "GPU:0 (sim): constants 64 bytes, variables 0 bytes, transient 256 bytes, "
                      "limit 1 GiB\n");
}

TEST_F(Placement, RunsOnSimulatedDevices_d6) {
  const Result run = gantry("run d.gantry --fill ones");
  EXPECT_EQ(run.out, "y: f32[2,2] on CPU:0\n[[4. 4.]\n [4. 4.]]\n");
}
