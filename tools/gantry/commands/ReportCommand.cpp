// gantry report: a page for the browser with pictures of a plan (lib/Show/Report.cpp), and where it
// goes.
#include "Commands.h"
#include "Console.h"
#include "Model.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Show/Report.h"

namespace gantry::tool {

namespace {

std::string defaultPath(const std::string &file) {
  const size_t name = file.find_last_of('/') + 1; // npos + 1 is 0
  const size_t dot = file.find_last_of('.');
  return (dot == std::string::npos || dot <= name ? file : file.substr(0, dot)) + ".html";
}

} // namespace

int reportCommand(const Options &options) {
  if (options.output.empty() && isStream(options.file))
    return report(Status::invalidArgument("a graph from standard input has no name for its report; "
                                          "say where to with -o, or -o - for standard output"));
  const std::string path = options.output.empty() ? defaultPath(options.file) : options.output;
  if (Status status = checkOutputs(options, {path}); !status.ok())
    return report(status);
  auto model = Model::load(options, Purpose::tell);
  if (!model)
    return report(model.status());
  const show::Subject subject = model->subject(options);
  if (Status status = subject.checkFunction(); !status.ok())
    return report(status);
  const std::string page = show::reportPage(subject);
  const arrays::ByteSpan parts[] = {{reinterpret_cast<const uint8_t *>(page.data()), page.size()}};
  if (Status status = arrays::writeFile(path, parts); !status.ok())
    return report(status);
  if (path != "-")
    printNote("wrote '" + path + "'; open it in a browser");
  return exitSuccess;
}

} // namespace gantry::tool
