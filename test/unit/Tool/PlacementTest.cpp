// What the driver says about placement and copies, on a plan for three devices.
#include "SeveralDevices.h"
#include "ToolFixture.h"

#include <algorithm>
#include <sstream>

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

TEST_F(Placement, LogsOnceWhatIsEvaluatedAtLoad_p1) {
  save("once.gantry", [](SeveralDevices &b) {
    auto op = std::make_unique<plan::fb::PlacedOpT>();
    op->log_name = "Mul", op->once = true, op->device = b.gpu1;
    op->rejected = {"GPU:0: no memory left"};
    b.function().placed_ops.push_back(std::move(op));
  });
  const Result run = gantry("run once.gantry --fill ones --log-device-placement");
  EXPECT_HAS(run.err, "GPU:0 (once, at load)\nExecuting op Mul in device " + device +
                          "GPU:1 (once, at load)\nCopying");
  EXPECT_HAS(run.err, "placed 4 ops: GPU:0 2, GPU:1 2; ");
  // It has no name: its kind stands for it.
  EXPECT_HAS(gantry("explain once.gantry").out, "GPU:0: no memory left    1  Mul\n");
}

TEST_F(Placement, LogsInTheOrderOfLaunchesNotOfTheList_p9) {
  // The two sums are of one kernel on one device; the list has them the other way round.
  save("listed.gantry", [](SeveralDevices &b) {
    auto &ops = b.function().placed_ops;
    std::swap(ops[0], ops[2]);
  });
  const std::string err = gantry("explain listed.gantry --log-device-placement=json").err;
  EXPECT_LT(err.find(R"("name":"first")"), err.find(R"("name":"second")")) << err;
  EXPECT_LT(err.find(R"("name":"second")"), err.find(R"("name":"sum")")) << err;
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

TEST_F(Placement, ExplainsOnAPage_p10) {
  const std::string out = gantry("explain d.gantry").out;
  EXPECT_HAS(out, "placement: default\n");
  EXPECT_HAS(out, "predicted 46 µs per run\n");
  EXPECT_HAS(out, "  GPU:1 (sim)     1     3 µs  ████       10 µs  16 bytes  128 bytes   none\n");
  EXPECT_HAS(out,
             "  GPU:0 (sim)     2     6 µs  ████████   40 µs  48 bytes  320 bytes  1 GiB  <1 %\n");
  EXPECT_HAS(out, "    1  GPU:1   requested: asked at model.mlir:4:8  second\n");
  EXPECT_HAS(out, "    1  GPU:0   requested, fell back                sum\n");
  EXPECT_HAS(out, "  not taken              ops  by\n  GPU:7: unknown device    1  sum\n");
  EXPECT_HAS(out, "  first, sum  GPU:0          2       6 µs   67 %  add_f32\n");
  EXPECT_HAS(
      out, "  at load    h2d   CPU:0  GPU:0       1  16 bytes      10 µs  operand 1 of 'first'\n");
  EXPECT_HAS(out, "\nplaced 3 ops: GPU:0 2, GPU:1 1; 1 fall-back; 4 copies per run, ");
}

TEST_F(Placement, ExplainsOpsAndCopies_p10) {
  const std::string out = gantry("explain d.gantry --all", "COLUMNS=140").out;
  EXPECT_HAS(out,
             "  Mul    second           GPU:1   requested: asked at model.mlir:4:8       3 µs  ");
  EXPECT_HAS(out,
             "  AddV2  sum              GPU:0   requested, fell back                     3 µs  ");
  EXPECT_HAS(out, "  not taken              ops  by\n  GPU:7: unknown device    1  sum\n");
  EXPECT_HAS(out, "  at load    h2d   CPU:0  GPU:0     16      10 µs  operand 1 of 'first'   w\n");
  EXPECT_HAS(out, "  every run  d2d   GPU:1  GPU:0     16      20 µs  operand 1 of 'sum'\n");
  EXPECT_HAS(out, "  every run  h2d   CPU:0  GPU:1     16      10 µs  operand 0 of 'second'  x\n");
}

TEST_F(Placement, ANodeThatBecameSeveralOpsIsARow_p10) {
  save("node.gantry", [](SeveralDevices &b) {
    for (size_t i : {0, 2}) {
      b.function().placed_ops[i]->node = "conv1";
      b.function().placed_ops[i]->source_op = "Conv";
    }
  });
  const std::string all = gantry("explain node.gantry --all", "COLUMNS=140").out;
  EXPECT_HAS(
      all,
      "  Conv  conv1   AddV2 ×2  GPU:0   default; requested, fell back            6 µs  add_f32");
  for (const char *pattern : {"conv1", "Conv", "op:AddV2", "name:su?", "name:first"}) {
    const std::string op = gantry(std::string("explain node.gantry --op ") + pattern).out;
    EXPECT_HAS(op, "\nConv 'conv1'\n  runs as    AddV2 ×2\n  named      first, sum\n");
    EXPECT_EQ(op.find("Mul"), std::string::npos);
  }
}

TEST_F(Placement, APatternThatDescribesNothingSaysWhatIsThere_p10) {
  const auto error = [&](const std::string &pattern) {
    const Result result = gantry("explain d.gantry --op " + pattern);
    EXPECT_EQ(result.status, pattern == "typ:x" ? 2 : 1);
    return result.err.substr(0, result.err.find('\n') + 1);
  };
  EXPECT_EQ(error("none"),
            "gantry: error: --op 'none' describes no op; the types of ops are AddV2, Mul\n");
  EXPECT_EQ(error("mul"),
            "gantry: error: --op 'mul' describes no op; did you mean 'Mul'? Case counts\n");
  EXPECT_EQ(error("econ"),
            "gantry: error: --op 'econ' describes no op; did you mean '*econ*'? All of a "
            "name has to match\n");
  EXPECT_EQ(error("typ:x"),
            "gantry: error: --op: 'typ:x' has the unknown subject 'typ'; known are op, "
            "name, kind\n");
}

TEST_F(Placement, KernelsAreChargedOnce_p10) {
  // Two ops in the launch of "first": the time of the launch stands at one of them.
  save("fused.gantry", [](SeveralDevices &b) {
    auto fused = std::make_unique<plan::fb::PlacedOpT>(*b.function().placed_ops[0]);
    fused->name = "fused", fused->log_name = "Relu", fused->predicted_seconds = 1;
    auto &ops = b.function().placed_ops;
    ops.insert(ops.begin() + 1, std::move(fused));
    for (auto &command : b.function().blocks[0]->commands)
      if (command->name == "first")
        command->log_names.push_back("Relu");
  });
  const std::string json = gantry("explain fused.gantry --json").out;
  EXPECT_HAS(json, R"("name":"fused")");
  const std::string check =
      "python3 -c 'import json,sys; f=json.load(open(sys.argv[1]))[\"functions\"][0]; "
      "ops=f[\"ops\"]; total=sum(o[\"predicted_seconds\"] for o in ops); "
      "by=sum(d[\"predicted_compute_seconds\"] for d in f[\"devices\"]); "
      "assert abs(total-by)<1e-12 and len(ops)==4, (total, by); "
      "assert [o[\"predicted_seconds\"]>0 for o in ops]==[False,True,True,True]; "
      "assert abs(sum(l[\"predicted_seconds\"] for l in f[\"launches\"])-by)<1e-12; "
      "assert abs(sum(k[\"predicted_seconds\"] for k in f[\"kernels\"])-by)<1e-12' " +
      (folder / "out");
  EXPECT_EQ(std::system(check.c_str()), 0) << json;
}

TEST_F(Placement, ExplainsOneOpWithItsCopies_p10) {
  const std::string out = gantry("explain d.gantry --op sum").out;
  EXPECT_HAS(out, "GPU:7: unknown device    1  sum");
  EXPECT_HAS(out, "operand 1 of 'sum'");
  EXPECT_EQ(out.find("second"), std::string::npos);
}

TEST_F(Placement, RespectsTheWidth_p10) {
  for (const char *command :
       {"explain d.gantry", "explain d.gantry --all", "explain d.gantry --memory",
        "explain d.gantry --op sum", "diff d.gantry p.gantry"})
    for (const size_t width : {80, 100, 120}) {
      const std::string out = gantry(command, "COLUMNS=" + std::to_string(width)).out;
      std::istringstream lines(out);
      for (std::string line; std::getline(lines, line);) {
        const auto columns =
            std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
        EXPECT_LE(static_cast<size_t>(columns), width) << command << "\n" << line;
      }
    }
}

TEST_F(Placement, ExplainsWhatAPredictionIsWorth_p11) {
  save("predicted.gantry", [](SeveralDevices &b) {
    b.function().predicted_seconds = 46e-6;
    b.function().lower_bound_seconds = 40e-6;
    b.plan.placement = "auto";
    b.plan.remarks = {"model.mlir:4:8: 'sum' asks for GPU:7, which is not there; it is on GPU:0"};
  });
  const std::string out = gantry("explain predicted.gantry").out;
  EXPECT_HAS(out, "predicted 46 µs per run; no placement on these devices can take less than "
                  "40 µs\n");
  EXPECT_HAS(out, "remark: model.mlir:4:8: 'sum' asks for GPU:7, which is not there; it is on "
                  "GPU:0\n");
}

TEST_F(Placement, SaysRemarksOnce_p5) {
  save("d.gantry", [](SeveralDevices &b) { b.plan.remarks = {"'sum' fell back to GPU:0"}; });
  const std::string remark = "gantry: remark: 'sum' fell back to GPU:0\n";
  EXPECT_HAS(gantry("run d.gantry --fill ones --log-device-placement").err, remark);
  EXPECT_EQ(gantry("run d.gantry --fill ones").err.find("remark"), std::string::npos);
  compiler = fake;
  write(folder / "m.onnx", "remark 'sum' fell back to GPU:0\nplan " + (folder / "d.gantry"));
  for (const char *command : {"run", "explain"}) {
    const Result said = gantry(command + std::string(" m.onnx --log-device-placement"));
    EXPECT_EQ(said.err.find(remark), 0u) << said.err;
    EXPECT_EQ(said.err.find("remark", remark.size()), std::string::npos) << said.err;
    EXPECT_EQ(said.out.find("remark"), std::string::npos) << said.out;
  }
}

TEST_F(Placement, DrawsQueuesOfSimulatedDevices_d6) {
  const std::string out = gantry("explain d.gantry --timeline").out;
  EXPECT_HAS(
      out,
      "GPU:0 compute            ·············░████░··························░████░·············"
      "  13 %\n");
  EXPECT_HAS(
      out,
      "GPU:0 copies from peers  ··················████████████████████████████··················"
      "  43 %\n");
  EXPECT_HAS(gantry("explain p.gantry --timeline").err,
             "gantry: error: --timeline draws the virtual clock of simulated devices, and "
             "'p.gantry' has none; compile it with --devices=... --simulate\n");
}

TEST_F(Placement, WhyNotNeedsTheGraph_p10) {
  EXPECT_EQ(gantry("explain d.gantry --why-not sum GPU:1").err,
            "gantry: error: 'd.gantry' is a plan; --why-not needs the graph, whose constraints the "
            "plan does not keep\n");
  compiler = fake;
  write(folder / "m.mlir", "flags\ntext because of GPU:7");
  const Result why = gantry("explain m.mlir --devices CPU:0,GPU:0 --why-not sum GPU:1");
  EXPECT_EQ(why.err, "gantry: note: devices=CPU:0,GPU:0 why not sum on GPU:1\n");
  EXPECT_EQ(why.out, "because of GPU:7\n");
  EXPECT_EQ(gantry("explain m.mlir --why-not sum GPU:1 --json").out,
            R"({"op":"sum","device":"GPU:1","text":"because of GPU:7\u000a"})"
            "\n");
}

TEST_F(Placement, ExplainsAsJson_p10) {
  const Result result = gantry("explain d.gantry --json --timeline --memory");
  const std::string parse = "python3 -m json.tool " + (folder / "out") + " >/dev/null";
  EXPECT_EQ(std::system(parse.c_str()), 0) << result.out;
  EXPECT_HAS(result.out, R"("kind":"d2d","time":"run","cause":"operand 1 of 'sum'",)"
                         R"("predicted_seconds":2)");
  EXPECT_HAS(result.out, R"("queue":3,"name":"","does":"copy")");
}

TEST_F(Placement, DiffsNothing_p13) {
  const Result same = gantry("diff d.gantry d.gantry");
  EXPECT_EQ(same.status, 0);
  EXPECT_EQ(same.out, "same placement, copies, memory and prediction\n");
}

TEST_F(Placement, DiffsWhatMoved_p13) {
  save("moved.gantry", [](SeveralDevices &b) {
    b.function().placed_ops[0]->device = b.gpu1;
    b.function().placed_ops[0]->rule = "lock";
    b.function().placed_ops[1]->name = "other";
    b.plan.constants[0]->home = b.gpu0;
    b.function().predicted_seconds = 23e-6;
    b.plan.arenas[1]->size = 512;
  });
  save("predicted.gantry", [](SeveralDevices &b) { b.function().predicted_seconds = 46e-6; });
  const Result differs = gantry("diff predicted.gantry moved.gantry");
  EXPECT_EQ(differs.status, 1);
  EXPECT_EQ(differs.err, "");
  const char *totals = "copied at load: 16 bytes -> 0 bytes\n"
                       "transient on GPU:0: 256 bytes -> 512 bytes (+100.0 %)\n";
  EXPECT_EQ(differs.out,
            std::string("function main\n"
                        "1 op moved\n"
                        "  ops  from   to     rule  which\n"
                        "    1  GPU:0  GPU:1  lock  first\n"
                        "1 op added\n"
                        "  ops  from  to     rule       which\n"
                        "    1        GPU:1  requested  other\n"
                        "1 op gone\n"
                        "  ops  from   to  rule       which\n"
                        "    1  GPU:1      requested  second\n"
                        "copies added (+) and gone (-)\n"
                        "      copy     kind  from   to        bytes  caused by\n"
                        "  -1  at load  h2d   CPU:0  GPU:0  16 bytes  operand 1 of 'first'\n") +
                totals);
  EXPECT_EQ(gantry("diff predicted.gantry moved.gantry --all").out,
            std::string("function main\n"
                        "1 op moved\n"
                        "  name   op     from   to     rule\n"
                        "  first  AddV2  GPU:0  GPU:1  lock\n"
                        "1 op added\n"
                        "  name   op   from  to     rule\n"
                        "  other  Mul        GPU:1  requested\n"
                        "1 op gone\n"
                        "  name    op   from   to  rule\n"
                        "  second  Mul  GPU:1      requested\n"
                        "copies added (+) and gone (-)\n"
                        "      copy     kind  from   to     bytes  caused by\n"
                        "  -1  at load  h2d   CPU:0  GPU:0     16  operand 1 of 'first'\n") +
                totals);
  const Result json = gantry("diff predicted.gantry moved.gantry --json");
  EXPECT_EQ(json.status, 1);
  EXPECT_HAS(json.out, R"({"same":false,"functions":[{"name":"main","same":false,"moved":[{"name":)"
                       R"("first","op":"AddV2","node":"first","source_op":"","from":")" +
                           device + R"(GPU:0","to":")" + device + R"(GPU:1","rule":"lock"}],)");
  const std::string parse = "python3 -m json.tool " + (folder / "out") + " >/dev/null";
  EXPECT_EQ(std::system(parse.c_str()), 0) << json.out;
}

TEST_F(Placement, DiffsAGraphAndAPlan_p13) {
  compiler = fake;
  write(folder / "m.onnx", "flags\nplan " + (folder / "d.gantry"));
  const Result same = gantry("diff d.gantry m.onnx --placement=auto");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_HAS(same.err, "placement=auto");
  EXPECT_EQ(gantry("diff d.gantry d.gantry --placement=auto").err,
            "gantry: error: 'd.gantry' is a plan, compiled already; --placement needs the graph\n");
  EXPECT_EQ(gantry("diff - -").err, "gantry: error: only one of the two can be standard input\n");
  EXPECT_EQ(gantry("diff d.gantry").status, 2);
}

TEST_F(Placement, CountersEqualTheLedger_x3) {
  const Result run = gantry("run d.gantry --fill ones -v --repeat 3 --output y.npy");
  EXPECT_EQ(run.status, 0);
  EXPECT_HAS(run.err, "gantry: copies counted as planned: 4 per run, 64 bytes (h2d 2, d2h 1, d2d "
                      "1); 1 at load, 16 bytes\n");
  EXPECT_HAS(run.err, "GPU:0 (sim): constants 64 bytes, variables 0 bytes, transient 256 bytes, "
                      "limit 1 GiB\n");
}

TEST_F(Placement, PrintsAnOutputFromWhereItIs_p16) {
  save("there.gantry", [](SeveralDevices &b) {
    b.function().outputs[0]->device = b.gpu0;
    plan::fb::CommandT &last = *b.function().blocks[0]->commands.back();
    last.copy_kind = plan::fb::CopyKind::sameDevice;
  });
  const Result run = gantry("run there.gantry --fill ones --repeat 2 -v --output y=y.npy");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(gantry("run there.gantry --fill ones").out,
            "y: f32[2,2] on GPU:0\n[[4. 4.]\n [4. 4.]]\n");
}

TEST_F(Placement, TellsTheVirtualClock_d6) {
  EXPECT_HAS(gantry("run d.gantry --fill ones -v").err, "gantry: on the virtual clock: 46 µs\n");
  EXPECT_HAS(gantry("bench d.gantry --runs 3 --json").out, R"("virtual_ms":0.046)");
  EXPECT_EQ(gantry("bench p.gantry --runs 3 --json").out.find("virtual_ms"), std::string::npos);
}

TEST_F(Placement, RunsOnSimulatedDevices_d6) {
  const Result run = gantry("run d.gantry --fill ones");
  EXPECT_EQ(run.out, "y: f32[2,2] on CPU:0\n[[4. 4.]\n [4. 4.]]\n");
}
