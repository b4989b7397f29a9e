// Who has which rule is decided by who attaches it: a file a family. Ops of other dialects can have
// rules in the same way.

#include "Rules.h"
#include "gantry/Gradient/Gradient.h"

using namespace mlir;
using namespace gantry;

void gantry::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GantryDialect *) {
    addUnaryRules(*context);
    addBinaryRules(*context);
    addContractionRules(*context);
    addWindowRules(*context);
    addReductionRules(*context);
    addNormalisationRules(*context);
    addMovementRules(*context);
    addIndexingRules(*context);
    addStructureRules(*context);
  });
}
