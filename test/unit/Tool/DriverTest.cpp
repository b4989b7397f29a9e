// The driver from outside, as a user has it: command line in; output, files and exit status out.
// Graphs are "compiled" by the fake compiler, so that this runs without MLIR.
#include "ToolFixture.h"

#include "gantry/Device/Topology.h"

#include <array>
#include <cmath>

using namespace gantry;
using namespace gantry::arrays;
using namespace gantry::tool::test;

TEST_F(GantryTool, RunsAPlanWithoutACompiler) {
  const Result run = gantry("run p.gantry --input a=ramp.npy --input b=ramp.npy");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "y: f32[2,2] on CPU:0\n[[ 0.  4.]\n [ 8. 12.]]\n");
  EXPECT_EQ(run.err, "");
}

TEST_F(GantryTool, RecognisesAPlanByContent) {
  std::filesystem::copy(folder / "p.gantry", folder / "p.onnx");
  EXPECT_EQ(gantry("run p.onnx --fill ones").status, 0);
  EXPECT_EQ(gantry("run - --fill ones", "cat p.gantry |").status, 0);
}

TEST_F(GantryTool, SaysWhatItMadeUp) {
  const Result run = gantry("run p.gantry --fill b=ramp");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "gantry: input 'a': f32[2,2] filled with uniform(-1,1), seed 0\n"
                     "gantry: input 'b': f32[2,2] filled with ramp, seed 0\n");
  EXPECT_EQ(run.out, gantry("run p.gantry --fill b=ramp").out);
  EXPECT_NE(run.out, gantry("run p.gantry --fill b=ramp --seed 1").out);
}

TEST_F(GantryTool, WritesOutputs) {
  EXPECT_EQ(gantry("run p.gantry --fill ones --output y=y.npy --output all.npz").status, 0);
  auto y = readArrays(folder / "y.npy"), all = readArrays(folder / "all.npz");
  ASSERT_TRUE(y && all);
  EXPECT_EQ((*y)[0].array.type(), "f32[2,2]");
  EXPECT_EQ((*all)[0].name, "y");
  EXPECT_EQ(valueAt((*all)[0].array.view(), 3), 4.0);
  const Result streamed = gantry("run p.gantry --fill ones --output -");
  EXPECT_EQ(streamed.out, contentOf(folder / "y.npy"));
}

TEST_F(GantryTool, BindsAnArchiveByName) {
  auto ones = Array::make(ElementType::f32, {2, 2});
  fill(*ones, {Fill::Kind::ones}, 0, "");
  const std::pair<std::string, ArrayView> both[] = {{"b", ones->view()}, {"a", ones->view()}};
  ASSERT_TRUE(writeNpz(folder / "in.npz", both).ok());
  const Result run = gantry("run p.gantry --input in.npz");
  EXPECT_EQ(run.err, "");
  EXPECT_HAS(run.out, "[[4. 4.]\n [4. 4.]]");
}

namespace {
/// A reference for the output of `p.gantry`, which is 4 everywhere for ones.
void saveReference(const std::string &file, ElementType element, std::array<double, 4> values) {
  auto array = Array::make(element, {2, 2});
  for (size_t i = 0; i < 4; ++i)
    storeFloat(element, array->bytes.data() + i * elementTypeSize(element), values[i]);
  ASSERT_TRUE(writeNpy(file, array->view()).ok());
}
} // namespace

TEST_F(GantryTool, ComparesByTheLargestValue_r5) {
  const auto expect = [&](std::array<double, 4> values, ElementType element = ElementType::f32) {
    saveReference(folder / "ref.npy", element, values);
    return gantry("run p.gantry --fill ones --expect y=ref.npy");
  };
  const Result close = expect({4, 4, 4, 4.00001});
  EXPECT_EQ(close.status, 0);
  EXPECT_EQ(close.out, "");
  EXPECT_HAS(close.err, "gantry: output 'y' against 'ref.npy': 2.5e-6 of the largest value, 1e-5 "
                        "allowed: equal\n");
  EXPECT_HAS(expect({4, 4, 4.1, 4}).err,
             "gantry: error: output 'y' differs from 'ref.npy' in 1 of 4 elements: 0.024 of the "
             "largest value, 1e-5 allowed (more with --rtol and --atol); worst at [1,0]: 4, "
             "expected 4.0999999\n");
  // The coarsest type counts, also that of the reference.
  EXPECT_EQ(expect({4, 4, 4.0156, 4}, ElementType::f16).status, 0);
  EXPECT_EQ(expect({4, 4, 4.0000001, 4}, ElementType::f64).status, 0);
  EXPECT_HAS(expect({0, 0, 0, 0}).err,
             "differs from 'ref.npy' in 4 of 4 elements: off by 4, where only zeros are expected");
  EXPECT_HAS(expect({4, NAN, 4, 4}).err,
             "differs from 'ref.npy' in 1 of 4 elements: NaN and infinities are not in the same "
             "places; worst at [0,1]: 4, expected nan\n");
  EXPECT_EQ(expect({4, 4, 4, INFINITY}).status, 1);
}

TEST_F(GantryTool, ComparesElementByElementWhereAsked) {
  saveReference(folder / "ref.npy", ElementType::f32, {4, 4, 4.1, 4});
  const Result differs = gantry("run p.gantry --fill ones --expect y=ref.npy --atol 1e-6");
  EXPECT_EQ(differs.status, 1);
  EXPECT_HAS(differs.err,
             "gantry: error: output 'y' differs from 'ref.npy' in 1 of 4 elements: max "
             "abs difference 0.1, max rel 0.0244 (rtol 0.001, atol 1e-06); worst at "
             "[1,0]: 4, expected 4.0999999");
  const Result agrees = gantry("run p.gantry --fill ones --expect y=ref.npy --rtol 0.1");
  EXPECT_EQ(agrees.status, 0);
  EXPECT_HAS(agrees.err, "gantry: output 'y' against 'ref.npy': max abs difference 0.1, max rel "
                         "0.0244 (rtol 0.1, atol 1e-06): equal\n");
  EXPECT_EQ(agrees.out, "");
}

TEST_F(GantryTool, NamesExpectedAndActual) {
  saveRamp("wide.npy", ElementType::f64, {2, 3});
  EXPECT_EQ(gantry("run p.gantry --input a=wide.npy --fill ones").err,
            "gantry: error: input 'a' is f32[2,2], but 'wide.npy' holds f64[2,3]\n");
  EXPECT_EQ(gantry("run p.gantry --input c=ramp.npy").err,
            "gantry: error: no input is called 'c'; the inputs are a: f32[2,2], b: f32[2,2]\n");
  EXPECT_EQ(gantry("run p.gantry --input a=ramp.npy --input a=ramp.npy").err,
            "gantry: error: input 'a' is given twice\n");
  EXPECT_EQ(gantry("run p.gantry --input ramp.npy").err,
            "gantry: error: 'ramp.npy' has no name; say which input it is: --input NAME=ramp.npy; "
            "the inputs are a: f32[2,2], b: f32[2,2]\n");
  EXPECT_EQ(gantry("run p.gantry --input a=none.npy").err,
            "gantry: error: cannot open 'none.npy': no such file or folder\n");
  EXPECT_EQ(gantry("run p.gantry --fill ones --output z=z.npy").status, 1);
  EXPECT_EQ(gantry("run p.gantry --fill c=ones").status, 1);
  EXPECT_EQ(gantry("run p.gantry --function init").status, 1);
}

TEST_F(GantryTool, RepeatedRunsGiveTheSame) {
  EXPECT_EQ(gantry("run p.gantry --repeat 20 --threads 2").status, 0);
}

TEST_F(GantryTool, LogsPlacement) {
  const Result text = gantry("run p.gantry --fill ones --log-device-placement");
  EXPECT_HAS(text.err,
             "Executing op AddV2 in device /job:localhost/replica:0/task:0/device:CPU:0\n"
             "Executing op Mul in device /job:localhost/replica:0/task:0/device:CPU:0\n"
             "placed 2 ops: CPU:0 2; 0 fall-backs; 0 copies per run, 0 bytes; 0 at load\n");
  const Result json = gantry("explain --log-device-placement=json p.gantry");
  EXPECT_EQ(json.err.substr(0, json.err.find('\n')),
            R"({"op":"AddV2","name":"node_AddV2","loc":"model.onnx:7:1",)"
            R"("device":"/job:localhost/replica:0/task:0/device:CPU:0","rule":"default",)"
            R"("reason":"","rejected":[],"fall_back":false})");
}

TEST_F(GantryTool, Explains) {
  const Result explained = gantry("explain p.gantry");
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_HAS(explained.out, "2 kernels, 2 launches for 2 ops");
  EXPECT_HAS(explained.out, "peak 16 bytes live at command 1 of 2, 'sum' (model.onnx:7:1)");
  const Result memory = gantry("explain p.gantry --memory");
  EXPECT_TRUE(std::regex_search(memory.out, std::regex("CPU:0 +0 bytes +0 bytes +64 bytes +16 "
                                                       "bytes +4\\.000 +48 bytes")))
      << memory.out;
  const Result op = gantry("explain p.gantry --op *_Add*");
  EXPECT_HAS(op.out, "node_AddV2");
  EXPECT_EQ(op.out.find("node_Mul"), std::string::npos);
}

TEST_F(GantryTool, JsonIsJson) {
  for (const char *command : {"explain p.gantry --json --memory", "devices --json",
                              "bench p.gantry --json --runs 3 --fill ones"}) {
    const Result result = gantry(command);
    EXPECT_EQ(result.status, 0) << result.err;
    const std::string parse = "python3 -m json.tool " + (folder / "out") + " >/dev/null";
    EXPECT_EQ(std::system(parse.c_str()), 0) << result.out;
  }
}

TEST_F(GantryTool, ListsDevicesAsATopologyFile) {
  const Result devices = gantry("devices --json");
  auto topology = Topology::fromJSON(devices.out);
  ASSERT_TRUE(topology) << topology.status().message() << devices.out;
  EXPECT_EQ(topology->logical.size(), 1u);
  EXPECT_GT(topology->physical[0].memory, 0u);
  EXPECT_HAS(gantry("devices").out, "CPU:0  " + topology->physical[0].model);
}

TEST_F(GantryTool, BenchReportsWhatTheSpecificationLists) {
  const Result bench = gantry("bench p.gantry --json --runs 7 --threads 1");
  for (const char *key :
       {"\"median_ms\":", "\"min_ms\":", "\"p90_ms\":", "\"runs\":7", "\"threads\":1",
        "\"load_ms\":", "\"first_run_ms\":", "\"peak_bytes\":{\"CPU:0\":"})
    EXPECT_HAS(bench.out, key);
}

TEST_F(GantryTool, AGraphNeedsTheCompiler) {
  write(folder / "m.mlir", "text x");
  const Result run = gantry("run m.mlir");
  EXPECT_EQ(run.status, 1);
  EXPECT_HAS(run.err, "gantry: error: compiling a graph needs the compiler library "
                      "'/nonexistent', which cannot be opened: cannot open shared object file: No "
                      "such file or directory; set GANTRY_COMPILER to the path of "
                      "libgantry-compiler.so\n");
  EXPECT_EQ(gantry("run none.onnx").err,
            "gantry: error: cannot open 'none.onnx': no such file or folder\n");
}

TEST_F(GantryTool, CompilesAndRunsAGraph) {
  compiler = fake;
  write(folder / "m.onnx", "plan " + (folder / "p.gantry"));
  EXPECT_HAS(gantry("run m.onnx --fill ones").out, "[[4. 4.]");
  EXPECT_HAS(gantry("run - --fill ones", "cat m.onnx |").out, "[[4. 4.]");
  const Result compiled = gantry("compile m.onnx");
  EXPECT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_EQ(contentOf(folder / "m.gantry"), contentOf(folder / "p.gantry"));
  EXPECT_EQ(gantry("compile m.onnx -o -").out, contentOf(folder / "p.gantry"));
  EXPECT_HAS(gantry("compile m.onnx -v").err,
             "CPU:0: constants 0 bytes, variables 0 bytes, transient "
             "64 bytes (4.000 times the lower bound)");
}

TEST_F(GantryTool, PassesFlagsOnInOrder) {
  compiler = fake;
  write(folder / "m.onnx", "flags\ntext hello");
  const Result compiled = gantry("compile --dim a=1 m.onnx --no-fuse --dim b=2 "
                                 "--stop-after=simplify --entry f --dim c=3");
  EXPECT_EQ(compiled.err,
            "gantry: note: dim=a=1 no-fuse dim=b=2 stop-after=simplify entry=f dim=c=3\n");
  EXPECT_EQ(compiled.out, "hello\n");
}

TEST_F(GantryTool, InputsThatDecideShapesBecomeValues) {
  compiler = fake;
  saveRamp("shape.npy", ElementType::i64, {2});
  saveRamp("x.npy", ElementType::f32, {2});
  write(folder / "m.onnx", "flags\nplan " + (folder / "p.gantry") + "\nshape n\nshape other");
  // Floats decide no shapes; what no shape needs stays an input.
  const Result run = gantry("run m.onnx --fill ones --input n=shape.npy");
  EXPECT_EQ(run.status, 0);
  EXPECT_HAS(run.err, "gantry: note: candidate=n scratch-above=268435456\n"
                      "gantry: input 'n' decides shapes: its value [0 1] is compiled in\n");
  const Result other = gantry("run m.onnx --fill ones --input k=shape.npy --input f=x.npy");
  EXPECT_HAS(other.err, "gantry: note: candidate=k scratch-above=268435456\n");
  EXPECT_HAS(other.err, "no input is called 'k'");
}

TEST_F(GantryTool, CompileFlagsNeedAGraph) {
  EXPECT_EQ(gantry("run p.gantry --dim batch=8").err,
            "gantry: error: 'p.gantry' is a plan, compiled already; --dim needs the graph\n");
}

TEST_F(GantryTool, TellsFailuresApart) {
  compiler = fake;
  write(folder / "bad.onnx",
        "error bad.onnx:3:1: error: 'foo' is no op\nfail 1 'bad.onnx' has 1 error");
  const Result bad = gantry("compile bad.onnx");
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.err,
            "bad.onnx:3:1: error: 'foo' is no op\ngantry: error: 'bad.onnx' has 1 error\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "bad.gantry"));
  write(folder / "big.onnx", "fail 5 CPU:0 is too small");
  EXPECT_EQ(gantry("compile big.onnx").status, 3);
  EXPECT_EQ(gantry("compile").status, 2);
  EXPECT_EQ(gantry("compile a b").status, 2);
  EXPECT_EQ(gantry("frobnicate").status, 2);
}

TEST_F(GantryTool, TellsAnErrorOnce) {
  compiler = fake;
  write(folder / "bad.onnx", "error 'foo' is no op\nerror 'bar' neither\nfail 1 'foo' is no op");
  EXPECT_EQ(gantry("run bad.onnx").err,
            "gantry: error: 'foo' is no op\ngantry: error: 'bar' neither\n");
}

TEST_F(GantryTool, AGraphOnStandardInputIsReadOnceAndGivenAsBytes) {
  compiler = fake;
  write(folder / "m.onnx", "flags\nplan " + (folder / "p.gantry"));
  const Result run = gantry("run - --fill ones < m.onnx");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_HAS(run.out, "[[4. 4.]");
  EXPECT_EQ(gantry("check - < m.onnx").status, 0);
}

TEST_F(GantryTool, APipeIsReadOnceWhereverItIsGiven) {
  compiler = fake;
  const std::string graph = "flags\nplan " + (folder / "p.gantry");
  write(folder / "m.onnx", graph);
  const auto piped = [&](const std::string &arguments, const std::string &file) {
    return gantry(arguments, "cat " + file + " |");
  };
  EXPECT_HAS(piped("run /dev/stdin --fill ones", "m.onnx").out, "[[4. 4.]");
  EXPECT_HAS(piped("run /dev/stdin --fill ones", "p.gantry").out, "[[4. 4.]");
  EXPECT_EQ(piped("diff p.gantry /dev/stdin", "p.gantry").status, 0);
  EXPECT_HAS(piped("explain /dev/stdin", "p.gantry").out, "2 kernels, 2 launches");
  EXPECT_EQ(piped("run p.gantry --input a=/dev/stdin --fill ones", "ramp.npy").status, 0);
  EXPECT_EQ(piped("compile /dev/stdin -o m.gantry", "p.gantry").err,
            "gantry: error: '/dev/stdin' is a plan already; `gantry run` runs it, `gantry "
            "plan-text` prints it\n");
  EXPECT_EQ(piped("report /dev/stdin", "p.gantry").err,
            "gantry: error: a graph from standard input has no name for its report; say where to "
            "with -o, or -o - for standard output\n");
}

TEST_F(GantryTool, WhatIsReadIsNotOverwritten) {
  compiler = fake;
  const std::string graph = "note compiling\nplan " + (folder / "p.gantry");
  write(folder / "m.onnx", graph);
  std::filesystem::create_symlink("m.onnx", folder / "link.onnx");
  const auto isRead = [](const std::string &file) {
    return "gantry: error: cannot write '" + file + "': it is what is read\n";
  };
  EXPECT_EQ(gantry("compile m.onnx -o ./m.onnx").err, isRead("./m.onnx"));
  EXPECT_EQ(gantry("compile m.onnx -o link.onnx").err, isRead("link.onnx"));
  EXPECT_EQ(gantry("compile m.onnx --write-placement-lock m.onnx").err, isRead("m.onnx"));
  EXPECT_EQ(gantry("report m.onnx -o m.onnx").err, isRead("m.onnx"));
  EXPECT_EQ(gantry("run m.onnx --fill ones --output m.onnx").err, isRead("m.onnx"));
  EXPECT_EQ(gantry("plan-text p.gantry -o p.gantry").err, isRead("p.gantry"));
  EXPECT_EQ(gantry("diff p.gantry m.onnx --write-placement-lock p.gantry").err, isRead("p.gantry"));
  EXPECT_EQ(contentOf(folder / "m.onnx"), graph);
  EXPECT_EQ(gantry("run m.onnx --fill ones --output y=y.npy --trace ./y.npy").err,
            "gantry: error: cannot write './y.npy': it is given for two outputs\n");
  EXPECT_EQ(gantry("compile m.onnx -o a --write-placement-lock a").err,
            "gantry: error: cannot write 'a': it is given for two outputs\n");
  EXPECT_EQ(gantry("run p.gantry --fill ones --output y=/dev/null --trace /dev/null").status, 0);
  // Inputs are read before outputs are written.
  EXPECT_EQ(gantry("run p.gantry --input a=ramp.npy --fill ones --output y=ramp.npy").status, 0);
}

TEST_F(GantryTool, ChecksAGraph) {
  compiler = fake;
  write(folder / "m.onnx", "text Foo (opset 17) is not supported\nfail 4 1 op is not supported");
  const Result checked = gantry("check m.onnx");
  EXPECT_EQ(checked.status, 1);
  EXPECT_EQ(checked.out, "Foo (opset 17) is not supported\n");
  write(folder / "fine.onnx", "text fine\njson {}");
  EXPECT_EQ(gantry("check fine.onnx").out, "fine\n");
  EXPECT_EQ(gantry("check fine.onnx --json").out, "{}\n");
}

TEST_F(GantryTool, LooksWhereItWillWriteBeforeItWorks) {
  compiler = fake;
  write(folder / "m.onnx", "note compiling\nplan " + (folder / "p.gantry"));
  std::filesystem::create_directory(folder / "taken");
  EXPECT_EQ(gantry("compile m.onnx -o none/m.gantry").err,
            "gantry: error: cannot write 'none/m.gantry': there is no folder 'none'\n");
  EXPECT_EQ(gantry("compile m.onnx -o taken").err,
            "gantry: error: cannot write 'taken': it is a folder\n");
  EXPECT_EQ(gantry("run m.onnx --fill ones --output y=none/y.npy").err,
            "gantry: error: cannot write 'none/y.npy': there is no folder 'none'\n");
  EXPECT_EQ(gantry("compile m.onnx --write-placement-lock none/m.lock").err,
            "gantry: error: cannot write 'none/m.lock': there is no folder 'none'\n");
  EXPECT_EQ(gantry("compile m.onnx -o ./m.gantry").err, "gantry: note: compiling\n");
}

TEST_F(GantryTool, KeepsTheOldPlanWhenCompilingFails) {
  compiler = fake;
  write(folder / "m.gantry", "old");
  write(folder / "m.onnx", "fail 1 no");
  EXPECT_EQ(gantry("compile m.onnx").status, 1);
  EXPECT_EQ(contentOf(folder / "m.gantry"), "old");
}

TEST_F(GantryTool, EveryCommandHasHelpWithExamples) {
  for (const char *command :
       {"run", "compile", "check", "devices", "bench", "explain", "diff", "plan-text"}) {
    const Result help = gantry(std::string(command) + " --help");
    EXPECT_EQ(help.status, 0);
    EXPECT_HAS(help.out, "Examples:\n  gantry " + std::string(command));
  }
}

TEST_F(GantryTool, ReportsAFullDisk) {
  for (const char *command : {"run p.gantry --fill ones", "--help", "run --help", "--version"}) {
    const Result run = gantry(command + std::string(" >/dev/full; test $? = 1; echo $?"));
    EXPECT_EQ(run.out, "0\n") << command;
  }
  const Result written = gantry("run p.gantry --fill ones --output y=/dev/full");
  EXPECT_EQ(written.status, 1);
  EXPECT_HAS(written.err, "/dev/full");
}

TEST_F(GantryTool, RefusesDamagedPlans) {
  const std::string whole = contentOf(folder / "p.gantry");
  for (size_t size : {size_t(8), size_t(63), size_t(100), whole.size() / 2, whole.size() - 1}) {
    write(folder / "cut.gantry", whole.substr(0, size));
    const Result run = gantry("run cut.gantry --fill ones");
    EXPECT_EQ(run.status, 1) << size;
    EXPECT_HAS(run.err, "gantry: error: ");
  }
}
