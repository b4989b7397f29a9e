// What both halves of the C API have: names of statuses and element types, tokens for cancelling.
#include "Cancel.h"
#include "Outcome.h"

#include "gantry/Support/ElementType.h"

using namespace gantry;
using namespace gantry::capi;

const char *gantry_status_name(gantry_status_t status) {
  switch (status) {
  case GANTRY_OK:
    return "OK";
  case GANTRY_INVALID_ARGUMENT:
    return "INVALID_ARGUMENT";
  case GANTRY_NOT_FOUND:
    return "NOT_FOUND";
  case GANTRY_CORRUPT:
    return "CORRUPT";
  case GANTRY_UNSUPPORTED:
    return "UNSUPPORTED";
  case GANTRY_DOES_NOT_FIT:
    return "DOES_NOT_FIT";
  case GANTRY_UNAVAILABLE:
    return "UNAVAILABLE";
  case GANTRY_FAILED_PRECONDITION:
    return "FAILED_PRECONDITION";
  case GANTRY_INTERNAL:
    return "INTERNAL";
  case GANTRY_CANCELLED:
    return "CANCELLED";
  }
  return nullptr;
}

static bool exists(gantry_element_type_t element) {
  return static_cast<unsigned>(element) < numElementTypes;
}

const char *gantry_element_name(gantry_element_type_t element) {
  return exists(element) ? elementTypeName(static_cast<ElementType>(element)).data() : nullptr;
}

size_t gantry_element_size(gantry_element_type_t element) {
  return exists(element) ? elementTypeSize(static_cast<ElementType>(element)) : 0;
}

gantry_status_t gantry_cancel_create(gantry_cancel_t **cancel) {
  GANTRY_NEED(cancel);
  *cancel = new gantry_cancel_t;
  return GANTRY_OK;
}

void gantry_cancel_set(gantry_cancel_t *cancel) {
  if (cancel)
    cancel->token.set();
}

void gantry_cancel_reset(gantry_cancel_t *cancel) {
  if (cancel)
    cancel->token.reset();
}

int gantry_cancel_is_set(const gantry_cancel_t *cancel) { return cancel && cancel->token.isSet(); }

void gantry_cancel_destroy(gantry_cancel_t *cancel) { delete cancel; }
