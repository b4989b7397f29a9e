// gantry-reduce: makes a graph that fails small, given a program that tells whether a graph still
// fails (it exits with 1 then). See docs/Debugging.md.

#include "Reduce.h"

#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Support/ExternalProgram.h"
#include "gantry/Support/File.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace gantry;
namespace cl = llvm::cl;
using llvm::StringRef;

static cl::OptionCategory category("Options of gantry-reduce");
static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("FILE"),
                                  cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("where the reduced graph is written"),
                                   cl::value_desc("FILE"), cl::init("-"), cl::cat(category));
static cl::opt<std::string>
    test("test", cl::Required, cl::value_desc("PROGRAM"), cl::cat(category),
         cl::desc("program that is given a graph's file as its last argument, and exits with 1 "
                  "while the graph is to be kept, with 0 when it is not"));
static cl::list<std::string> testArguments("test-arg", cl::value_desc("TEXT"), cl::cat(category),
                                           cl::desc("argument of the program before the file"));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "gantry-reduce: error: " << message << "\n";
  return 1;
}

/// The words before the file. A program without a folder is looked for as a shell does.
static gantry::Expected<std::vector<std::string>> findTest() {
  std::string program = test;
  if (!StringRef(program).contains('/')) {
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(program);
    if (!found)
      return Status::notFound("there is no program '" + program + "'");
    program = *found;
  }
  std::vector<std::string> command{program};
  command.insert(command.end(), testArguments.begin(), testArguments.end());
  return command;
}

namespace {
/// Asks the program about one text after the other.
class Question {
public:
  Question(std::vector<std::string> command, std::string file)
      : command(std::move(command)), file(std::move(file)) {
    this->command.push_back(this->file);
  }

  /// Whether it exits with 1; false after a failure.
  bool operator()(const std::string &text) {
    if (!failure.ok())
      return false;
    failure =
        writeFileAtomically(file, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    if (!failure.ok())
      return false;
    auto finished = runProgram(command);
    if (!finished)
      failure = finished.status();
    else if (finished->signal || finished->exitCode > 1)
      failure = Status::invalidArgument("'" + command.front() + "' ended with " +
                                        finished->describe() + ", expected 0 or 1");
    return failure.ok() && finished->exitCode == 1;
  }

  Status failure;

private:
  std::vector<std::string> command;
  std::string file;
};
} // namespace

static int write(mlir::ModuleOp module) {
  std::error_code error;
  llvm::raw_fd_ostream os(output, error);
  if (error)
    return fail("cannot write '" + output + "': " + error.message());
  module.print(os);
  return 0;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Makes a graph that fails small.\n");
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(input, &context);
  if (!module)
    return 1;
  gantry::Expected<std::vector<std::string>> command = findTest();
  if (!command)
    return fail(command.status().message());
  llvm::SmallString<128> file;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("gantry-reduce", "mlir", file))
    return fail("cannot make a file for what is tried: " + error.message());
  Question isInteresting(command.take(), file.str().str());
  const bool reduced = succeeded(reduceModule(module, std::ref(isInteresting)));
  llvm::sys::fs::remove(file);
  if (!isInteresting.failure.ok())
    return fail(isInteresting.failure.message());
  if (!reduced)
    return fail("the graph is not interesting as it is: '" + test + "' exits with 0");
  return write(*module);
}
