// The C API of what plans say of themselves: lib/Show, as texts for callers.
#include "gantry-c/show.h"

#include "Outcome.h"
#include "Plans.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/PlanDiff.h"
#include "gantry/Show/Reports.h"

#include <vector>

using namespace gantry;
using namespace gantry::capi;

struct gantry_text_t {
  std::string text;
};

const char *gantry_text_string(const gantry_text_t *text) {
  return text ? text->text.c_str() : nullptr;
}

void gantry_text_destroy(gantry_text_t *text) { delete text; }

using Functions = std::vector<const plan::fb::Function *>;

/// The function of that name, or all when there is no name.
static Expected<Functions> select(const plan::fb::Plan &plan, const char *name) {
  Functions found;
  std::string names;
  for (const auto *function : show::listOf(plan.functions())) {
    const std::string_view own = show::textOf(function->name());
    names += (names.empty() ? "" : ", ") + ("'" + std::string(own) + "'");
    if (!name || own == name)
      found.push_back(function);
  }
  if (name && found.empty())
    return Status::notFound("there is no function '" + std::string(name) + "'; the functions are " +
                            names);
  return found;
}

static std::string tell(const plan::fb::Plan &plan, const Functions &functions, gantry_show_t what,
                        show::Form form) {
  if (what == GANTRY_SHOW_MEMORY)
    return form == show::Form::programs ? show::memoryAsJSON(plan) : show::memorySummary(plan);
  std::string text;
  for (const plan::fb::Function *function : functions) {
    if (form == show::Form::people && functions.size() > 1)
      text += "function " + std::string(show::textOf(function->name())) + ":\n";
    text += what == GANTRY_SHOW_LOG ? show::placementLog(plan, *function, form)
                                    : show::copyLog(plan, *function, form);
  }
  return text;
}

gantry_status_t gantry_plan_show(const gantry_plan_t *plan, const char *function,
                                 gantry_show_t what, gantry_form_t form, gantry_text_t **text) {
  clear(text);
  GANTRY_NEED(plan && text);
  if (unsigned(what) > GANTRY_SHOW_MEMORY || unsigned(form) > GANTRY_FORM_JSON)
    return finish(Status::invalidArgument("gantry_plan_show: there is no gantry_show_t " +
                                          std::to_string(int(what)) + " or no gantry_form_t " +
                                          std::to_string(int(form))));
  const plan::fb::Plan &metadata = metadataOf(*plan);
  Expected<Functions> functions = select(metadata, function);
  if (!functions)
    return finish(functions.status());
  *text =
      new gantry_text_t{tell(metadata, *functions, what,
                             form == GANTRY_FORM_JSON ? show::Form::programs : show::Form::people)};
  return GANTRY_OK;
}

gantry_status_t gantry_plan_diff(const gantry_plan_t *before, const gantry_plan_t *after,
                                 gantry_text_t **json) {
  clear(json);
  GANTRY_NEED(before && after && json);
  *json =
      new gantry_text_t{show::diffAsJSON(show::diffPlans(metadataOf(*before), metadataOf(*after)))};
  return GANTRY_OK;
}
