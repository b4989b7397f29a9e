// A run as a chain: cut where one value alone goes on to what comes behind it on the way there. The
// part between two cuts is a stage; what the way back reads of it can be made from the value at its
// beginning. Thin values, a thousandth of the peak, go around cuts.
#pragma once

#include "Schedule.h"

namespace gantry::remat {

/// What of a stage's values is kept from the run that makes them until the way back reads them.
struct Tape {
  int64_t bytes = 0;
  double seconds = 0;              ///< of the stage, when it runs again for this tape
  std::vector<uint32_t> values;    ///< that are kept
  std::vector<uint32_t> lateSteps; ///< that make the others where they are read
  double lateSeconds = 0;
};

struct Stage {
  uint32_t first = 0, end = 0; ///< steps of the way there
  uint32_t input = none;       ///< the value at its beginning; none for the first stage
  uint32_t output = none;      ///< the value at its end; none for the last stage
  std::vector<uint32_t> read;  ///< by the way back, without input and output
  uint32_t turn = 0;           ///< the step in front of which these must be there again

  std::vector<Tape> tapes;  ///< from all of them to none
  double acrossSeconds = 0; ///< from the input to the output alone
  double backSeconds = 0;   ///< from the input to what is read
  int64_t outputBytes = 0;
  // Held by runs of the stage, without an input that stays:
  int64_t acrossBytes = 0;  ///< from an input that stays to the output
  int64_t passingBytes = 0; ///< from an input that ends to the output
  int64_t tapeBytes = 0;    ///< to all that is read and the output
  int64_t backBytes = 0;    ///< to all that is read
  int64_t thereBytes = 0;   ///< as it runs without repetitions, what is of no stage included
  int64_t turnBytes = 0;    ///< by its way back, gradients included
  int64_t besideBytes = 0;  ///< at its turn, by what is of no stage
};

/// The stages of a run without repetitions; none where it is no chain.
std::vector<Stage> findStages(const Schedule &plain);

/// Steps of the stage that make the values from the input and others that are there.
std::vector<uint32_t> stepsTo(const Graph &graph, const Stage &stage, std::vector<uint32_t> values,
                              std::vector<uint32_t> there = {});

} // namespace gantry::remat
