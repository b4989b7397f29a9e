// Outputs that may be an input's array. The first command with such an output copies the input to
// it, whole, and nothing else has the input: so where both are one array the copy moves nothing,
// and all that comes later has the output.
#include "Walk.h"

namespace gantry::plan {

namespace {

class OverChecker : Walk {
public:
  OverChecker(const Walk &walk, const fb::Function &function) : Walk(walk), function(function) {}

  Status run(const std::string &name) {
    std::unordered_set<uint32_t> inputs;
    uint32_t output = 0;
    for (const fb::Binding *binding : each(function.outputs())) {
      place = name + ", output " + number(output);
      if (binding->over() != nothingSaid) {
        if (!inputs.insert(binding->over()).second)
          return fail("it lies over input " + number(binding->over()) + ", as another output does");
        GANTRY_RETURN_IF_ERROR(checkPair(*binding, output));
      }
      ++output;
    }
    return {};
  }

private:
  const fb::Function &function;

  Status checkPair(const fb::Binding &output, uint32_t index) const {
    GANTRY_RETURN_IF_ERROR(checkIndex(output.over(), countOf(function.inputs()), "input"));
    const fb::Binding &input = *function.inputs()->Get(output.over());
    const bool sameType = elementOf(*input.type()) == elementOf(*output.type()) &&
                          std::ranges::equal(shapeOf(*input.type()), shapeOf(*output.type()));
    if (!sameType || input.device() != output.device())
      return fail("it lies over input " + number(output.over()) +
                  ", which has another type or is on another device");
    bool isCopied = false;
    return checkBlock(0, output.over(), index, isCopied);
  }

  /// The blocks are a tree that is not deep.
  Status checkBlock(uint32_t block, uint32_t input, uint32_t output, bool &isCopied) const {
    for (const fb::Command *command : each(function.blocks()->Get(block)->commands())) {
      if (block == 0 && !isCopied && copies(*command, input, output)) {
        isCopied = true;
        continue;
      }
      if (uses(*command, fb::Space::input, input))
        return fail("it lies over input " + number(input) + ", which command '" + nameOf(*command) +
                    "' has besides the copy to it");
      if (!isCopied && uses(*command, fb::Space::output, output))
        return fail("it lies over input " + number(input) + ", and command '" + nameOf(*command) +
                    "' has it before that is copied to it");
      for (uint32_t nested : each(command->blocks()))
        GANTRY_RETURN_IF_ERROR(checkBlock(nested, input, output, isCopied));
    }
    return {};
  }

  /// Whether that is all that the command does with either.
  bool copies(const fb::Command &command, uint32_t input, uint32_t output) const {
    if (command.opcode() != fb::Opcode::copy)
      return false;
    const uint64_t bytes = byteSizeOf(*function.inputs()->Get(input)->type()).value_or(0);
    unsigned found = 0;
    for (uint32_t i = 0; i < numCopied(command); ++i) {
      const Copied value = copiedBy(command, i);
      if (is(value.source, fb::Space::input, input) &&
          is(value.target, fb::Space::output, output) && value.source.size() == bytes)
        ++found;
      else if (is(value.source, fb::Space::input, input) ||
               is(value.source, fb::Space::output, output) ||
               is(value.target, fb::Space::output, output))
        return false;
    }
    return found == 1;
  }

  static bool is(const fb::BufferRef &buffer, fb::Space space, uint32_t index) {
    return buffer.space() == space && buffer.index() == index;
  }

  static bool uses(const fb::Command &command, fb::Space space, uint32_t index) {
    for (const fb::BufferRef *buffer : each(command.buffers()))
      if (is(*buffer, space, index))
        return true;
    return command.condition() && is(*command.condition(), space, index);
  }

  static std::string nameOf(const fb::Command &command) {
    return std::string(textOf(command.name()));
  }
};

} // namespace

Status checkOutputsOverInputs(const Walk &walk, const fb::Function &function,
                              const std::string &name) {
  return OverChecker(walk, function).run(name);
}

} // namespace gantry::plan
