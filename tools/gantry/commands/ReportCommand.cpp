// gantry report: a page for the browser with pictures of a plan or of two (lib/Show/Report.cpp),
// what runs of them took, and where the page goes.
#include "Commands.h"
#include "Console.h"
#include "Model.h"

#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Show/Report.h"

#include <deque>

namespace gantry::tool {

namespace {

std::string defaultPath(const std::string &file) {
  const size_t name = file.find_last_of('/') + 1; // npos + 1 is 0
  const size_t dot = file.find_last_of('.');
  return (dot == std::string::npos || dot <= name ? file : file.substr(0, dot)) + ".html";
}

/// The plans and what the page tells of them.
struct Shown {
  std::deque<Model> models;
  std::deque<show::Subject> subjects;
  std::deque<std::vector<show::Measured>> measured; ///< by plan

  Status add(Expected<Model> model, const Options &options) {
    if (!model)
      return model.status();
    models.push_back(model.take());
    subjects.push_back(models.back().subject(options));
    measured.emplace_back();
    return subjects.back().checkFunction();
  }

  /// Times of a function of a plan; a later file of the same function is told in place of the
  /// first.
  Status addTimes(size_t number, const std::string &path) {
    auto bytes = arrays::FileBytes::open(path);
    if (!bytes)
      return bytes.status();
    const std::span<const uint8_t> content = bytes->bytes();
    auto times = show::readMeasured(
        {reinterpret_cast<const char *>(content.data()), content.size()}, models[number].plan());
    if (!times)
      return Status(times.status().code(),
                    "--measured '" + path + "': " + times.status().message());
    std::vector<show::Measured> &known = measured[number];
    std::erase_if(known, [&](const auto &one) { return one.function == times->function; });
    known.push_back(times.take());
    return {};
  }

  std::string page() const {
    std::vector<show::Reported> plans;
    for (size_t i = 0; i < models.size(); ++i)
      plans.push_back({subjects[i], measured[i]});
    return show::reportPage(plans);
  }
};

/// "FILE", or of two plans "A=FILE" and "B=FILE".
Status addMeasured(const Options &options, Shown &shown) {
  for (const std::string &text : options.measured) {
    const bool isNamed = text.starts_with("A=") || text.starts_with("B=");
    if (shown.models.size() == 2 && !isNamed)
      return Status::invalidArgument("--measured '" + text +
                                     "': of two plans say which one, as in A=" + text);
    const bool isOfTwo = shown.models.size() == 2;
    const size_t number = isOfTwo && text.starts_with("B=") ? 1 : 0;
    GANTRY_RETURN_IF_ERROR(shown.addTimes(number, isOfTwo ? text.substr(2) : text));
  }
  return {};
}

} // namespace

int reportCommand(const Options &options) {
  if (options.output.empty() && isStream(options.file))
    return report(Status::invalidArgument("a graph from standard input has no name for its report; "
                                          "say where to with -o, or -o - for standard output"));
  const std::string path = options.output.empty() ? defaultPath(options.file) : options.output;
  if (Status status = checkOutputs(options, {path}); !status.ok())
    return report(status);
  Shown shown;
  Status status = options.other.empty()
                      ? shown.add(Model::load(options, Purpose::tell), options)
                      : shown.add(Model::loadOfTwo(options, options.file, options.other), options);
  if (status.ok() && !options.other.empty())
    status = shown.add(Model::loadOfTwo(options, options.other, options.file), options);
  if (status.ok())
    status = addMeasured(options, shown);
  if (!status.ok())
    return report(status);
  const std::string page = shown.page();
  const arrays::ByteSpan parts[] = {{reinterpret_cast<const uint8_t *>(page.data()), page.size()}};
  if (Status written = arrays::writeFile(path, parts); !written.ok())
    return report(written);
  if (path != "-")
    printNote("wrote '" + path + "'; open it in a browser");
  return exitSuccess;
}

} // namespace gantry::tool
