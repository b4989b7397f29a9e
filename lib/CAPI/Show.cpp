// The C API of what plans say of themselves: lib/Show, as texts for callers. A library of its own,
// since whoever runs plans need not tell of them.
#include "gantry-c/show.h"

#include "Info.h"
#include "Outcome.h"

#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/PlanFile.h"
#include "gantry/Show/Explain.h"
#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/PlanDiff.h"
#include "gantry/Show/Report.h"
#include "gantry/Show/Reports.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"
#include "gantry/Support/Version.h"

#include <algorithm>

using namespace gantry;
using namespace gantry::capi;

struct gantry_plan_view_t {
  plan::PlanFile file;
};

struct gantry_text_t {
  std::string text;
};

const char *gantry_text_string(const gantry_text_t *text) {
  return text ? text->text.c_str() : nullptr;
}

size_t gantry_text_size(const gantry_text_t *text) { return text ? text->text.size() : 0; }

void gantry_text_destroy(gantry_text_t *text) { delete text; }

const char *gantry_show_last_error() { return lastError().c_str(); }

const char *gantry_show_version() { return GANTRY_VERSION_STRING; }

//--- views ---------------------------------------------------------------------------------------

static gantry_status_t give(Expected<plan::PlanFile> file, gantry_plan_view_t **view) {
  if (!file)
    return finish(file.status());
  *view = new gantry_plan_view_t{file.take()};
  return GANTRY_OK;
}

gantry_status_t gantry_plan_view_open(const char *path, gantry_plan_view_t **view) {
  clear(view);
  GANTRY_NEED(path && view);
  return give(plan::PlanFile::open(path, {plan::Check::metadataOnly}), view);
}

gantry_status_t gantry_plan_view_of(const void *data, size_t size, gantry_plan_view_t **view) {
  clear(view);
  GANTRY_NEED(data && view);
  const std::span bytes(static_cast<const uint8_t *>(data), size);
  const plan::ReadOptions read = {plan::Check::metadataOnly};
  const bool isAligned = reinterpret_cast<uintptr_t>(data) % bufferAlignment == 0;
  return give(isAligned ? plan::PlanFile::fromBytes(bytes, nullptr, read)
                        : plan::PlanFile::copyOf(bytes, read),
              view);
}

void gantry_plan_view_destroy(gantry_plan_view_t *view) { delete view; }

//--- telling -------------------------------------------------------------------------------------

static Expected<show::Question> read(const gantry_show_options_t *options) {
  constexpr uint32_t leastWidth = 40;
  show::Question question;
  if (!options)
    return question;
  auto given = take(options, "gantry_show_options_t");
  if (!given)
    return given.status();
  question.function = given->function ? given->function : "";
  question.op = given->op ? given->op : "";
  question.all = given->all;
  question.memory = given->memory;
  question.timeline = given->timeline;
  if (given->width)
    question.width = std::max(given->width, leastWidth);
  return question;
}

/// LOG and COPIES of the functions that are asked for.
static std::string lines(const show::Subject &subject, gantry_show_t what, show::Form form) {
  const auto functions = subject.functions();
  std::string text;
  for (const plan::fb::Function *function : functions) {
    if (form == show::Form::people && functions.size() > 1)
      text += "function " + printable(show::textOf(function->name())) + ":\n";
    text += what == GANTRY_SHOW_LOG ? show::placementLog(subject.plan, *function, form)
                                    : show::copyLog(subject.plan, *function, form);
  }
  return text;
}

/// The run that is given, whose function becomes the one that is told of.
static Expected<show::Moments> momentsOf(const plan::fb::Plan &plan,
                                         const gantry_show_options_t *options,
                                         show::Question &question) {
  if (!options)
    return show::Moments();
  const auto given = take(options, "gantry_show_options_t");
  if (!given || !given->moments || given->num_moments == 0)
    return show::Moments();
  const std::span moments(given->moments, given->num_moments);
  const auto wrong = [](const gantry_moment_t &moment) {
    return Status::invalidArgument("there is no command number " + std::to_string(moment.command) +
                                   " of a function number " + std::to_string(moment.function) +
                                   ", of which a moment is given");
  };
  const uint32_t function = moments.front().function;
  if (function >= plan.functions()->size())
    return wrong(moments.front());
  const auto commands = plan::commandsOf(*plan.functions()->Get(function));
  std::vector<plan::Moment> run;
  for (const gantry_moment_t &moment : moments) {
    if (moment.function != function || moment.command >= commands.size())
      return wrong(moment);
    run.push_back({commands[moment.command].command, moment.start, moment.end});
  }
  question.function = show::textOf(plan.functions()->Get(function)->name());
  return show::Moments(std::move(run));
}

/// A run that is given stands beside what is predicted.
static std::string report(const show::Subject &subject, const show::Moments &moments,
                          const show::Subject *other, bool asJson) {
  std::vector<show::Measured> measured;
  if (moments)
    measured.push_back(show::measuredOf(*subject.functions().front(), *moments));
  std::vector<show::Reported> plans = {{subject, measured}};
  if (other)
    plans.push_back({*other, {}});
  return asJson ? show::reportData(plans) : show::reportPage(plans);
}

static std::string tell(const show::Subject &subject, const show::Moments &moments,
                        const show::Subject *other, gantry_show_t what, bool asJson) {
  switch (what) {
  case GANTRY_SHOW_LOG:
  case GANTRY_SHOW_COPIES:
    return lines(subject, what, asJson ? show::Form::programs : show::Form::people);
  case GANTRY_SHOW_MEMORY:
    return asJson ? show::memoryAsJSON(subject.plan) : show::memorySummary(subject.plan);
  case GANTRY_SHOW_EXPLAIN:
    return asJson ? show::explainAsJson(subject, moments)
                  : show::explainForPeople(subject, moments);
  case GANTRY_SHOW_TIMELINE:
    return asJson ? show::timelineAsJson(subject, moments)
                  : show::timelineForPeople(subject, moments);
  case GANTRY_SHOW_REPORT:
    return report(subject, moments, other, asJson);
  }
  return "";
}

/// Numbers that no enum has.
static Status check(const char *call, unsigned what, unsigned form) {
  if (what <= GANTRY_SHOW_REPORT && form <= GANTRY_FORM_JSON)
    return {};
  return Status::invalidArgument(std::string(call) + ": there is no gantry_show_t " +
                                 std::to_string(what) + " or no gantry_form_t " +
                                 std::to_string(form));
}

gantry_status_t gantry_plan_view_show(const gantry_plan_view_t *view, gantry_show_t what,
                                      gantry_form_t form, const gantry_show_options_t *options,
                                      gantry_text_t **text) {
  clear(text);
  GANTRY_NEED(view && text);
  if (Status status = check(__func__, what, form); !status.ok())
    return finish(std::move(status));
  auto question = read(options);
  if (!question)
    return finish(question.status());
  const auto moments = momentsOf(view->file.plan(), options, *question);
  if (!moments)
    return finish(moments.status());
  show::Subject subject(view->file.plan(), view->file.bytes().size(), question.take());
  if (Status status = subject.checkFunction(); !status.ok())
    return finish(std::move(status));
  if (Status status = subject.readPattern(); !status.ok())
    return finish(Status(status.code(), "op " + status.message()));
  std::optional<show::Subject> other;
  if (options)
    if (auto given = take(options, "gantry_show_options_t"); given && given->other) {
      const plan::PlanFile &file = given->other->file;
      show::Question ofOther;
      ofOther.function = subject.question.function;
      other.emplace(file.plan(), file.bytes().size(), std::move(ofOther));
      if (Status status = other->checkFunction(); !status.ok())
        return finish(std::move(status));
    }
  *text = new gantry_text_t{
      tell(subject, *moments, other ? &*other : nullptr, what, form == GANTRY_FORM_JSON)};
  return GANTRY_OK;
}

gantry_status_t gantry_plan_view_diff(const gantry_plan_view_t *before,
                                      const gantry_plan_view_t *after, gantry_form_t form,
                                      const gantry_show_options_t *options, gantry_text_t **text) {
  clear(text);
  GANTRY_NEED(before && after && text);
  if (Status status = check(__func__, GANTRY_SHOW_EXPLAIN, form); !status.ok())
    return finish(std::move(status));
  auto question = read(options);
  if (!question)
    return finish(question.status());
  const show::PlanDiff diff = show::diffPlans(before->file.plan(), after->file.plan());
  *text = new gantry_text_t{form == GANTRY_FORM_JSON
                                ? show::diffAsJSON(diff)
                                : show::diffForPeople(diff, question->all, question->width)};
  return GANTRY_OK;
}
