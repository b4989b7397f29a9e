// Plans that are compiled in a test, open for changes, and what it takes to run them.
#pragma once

#include "gantry-c/compiler.h"
#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Plan/PlanWriter.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Session.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gantry::runtime::test {

namespace fb = plan::fb;

/// A compiled plan, open for changes.
struct EditablePlan {
  plan::PlanFile file; ///< holds the segments
  fb::PlanT metadata;

  explicit EditablePlan(plan::PlanFile compiled) : file(std::move(compiled)) {
    file.plan().UnPackTo(&metadata);
  }

  Expected<plan::PlanFile> seal(const fb::PlanT &changed) const {
    plan::PlanWriter writer;
    for (uint32_t i = 0; i < file.numSegments(); ++i) {
      bool isConstants = std::any_of(metadata.constants.begin(), metadata.constants.end(),
                                     [&](const auto &constant) { return constant->segment == i; });
      uint32_t segment =
          writer.addSegment(isConstants ? plan::SegmentKind::constants : plan::SegmentKind::code);
      writer.addBlob(segment, file.segment(i)); // as one blob: offsets stay
    }
    Expected<AlignedBuffer> bytes = writer.toBytes(changed);
    if (!bytes)
      return bytes.status();
    return plan::PlanFile::copyOf({bytes->data(), bytes->size()});
  }

  /// A copy to change.
  fb::PlanT copy() const {
    fb::PlanT result;
    file.plan().UnPackTo(&result);
    return result;
  }
};

inline void printError(void *, gantry_severity_t severity, const char *text) {
  if (severity == GANTRY_SEVERITY_ERROR)
    ADD_FAILURE() << text;
}

inline plan::PlanFile compileFile(const std::string &path, const std::vector<std::string> &flags) {
  std::vector<const char *> pointers;
  for (const std::string &flag : flags)
    pointers.push_back(flag.c_str());
  gantry_artifact_t *artifact = nullptr;
  gantry_compile_request_t request{};
  request.struct_size = sizeof request;
  request.file = path.c_str();
  request.flags = pointers.data();
  request.num_flags = pointers.size();
  request.log = printError;
  gantry_compile(&request, &artifact);
  size_t size = 0;
  const void *data = artifact ? gantry_artifact_data(artifact, &size) : nullptr;
  auto file = plan::PlanFile::copyOf({static_cast<const uint8_t *>(data), size});
  if (!file) // nothing can go on, and the compiler has said why
    std::abort();
  gantry_artifact_destroy(artifact);
  return file.take();
}

/// A plan of its own of what several tests of a process compile alike, which is compiled once.
inline EditablePlan compile(const std::string &path, const std::vector<std::string> &flags) {
  static std::map<std::pair<std::string, std::vector<std::string>>, plan::PlanFile> compiled;
  auto entry = compiled.find({path, flags});
  if (entry == compiled.end())
    entry = compiled.try_emplace({path, flags}, compileFile(path, flags)).first;
  return EditablePlan(plan::PlanFile::copyOf(entry->second.bytes()).take());
}

/// Everything to run a plan's first function with made-up inputs.
struct World {
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Session> session;
  std::shared_ptr<Bindings> bindings;
  std::vector<Tensor> inputs;
  Status status; ///< why it did not come so far

  explicit World(Expected<plan::PlanFile> file,
                 std::shared_ptr<Runtime> in = createRuntime({.threads = 1}))
      : runtime(std::move(in)) {
    if (!file) {
      status = file.status();
      return;
    }
    auto loaded = LoadedPlan::load(runtime, file.take(), "plan");
    if (!loaded) {
      status = loaded.status();
      return;
    }
    auto made = Session::create(*loaded);
    if (!made) {
      status = made.status();
      return;
    }
    session = made.take();
    bindings = Bindings::create(*loaded, 0u).take();
    const FunctionInfo &function = (*loaded)->functions()[0];
    for (unsigned i = 0; i < function.inputs.size(); ++i) {
      inputs.push_back(Tensor::allocate(function.inputs[i].type).take());
      fill(inputs.back());
      EXPECT_TRUE(bindings->bindInput(i, inputs.back()).ok());
    }
  }

  /// Small numbers of both signs; the passes of the loop: 3.
  static void fill(const Tensor &tensor) {
    uint64_t count = tensor.type().byteSize() / 4;
    for (uint64_t i = 0; i < count; ++i)
      if (tensor.type().element == ElementType::f32)
        tensor.dataAs<float>()[i] = static_cast<float>(int(i * 7 % 23) - 11) / 16;
      else
        tensor.dataAs<int32_t>()[i] = 3;
  }

  Status run(CommandOrder order) {
    if (!status.ok())
      return status;
    session->setCommandOrder(order);
    return session->run(*bindings);
  }
  std::vector<uint8_t> output() {
    Tensor tensor = bindings->output(0u).take();
    auto *data = static_cast<const uint8_t *>(tensor.data());
    return {data, data + tensor.type().byteSize()};
  }
};

/// Where a command is.
struct Place {
  size_t block, command;
};

inline std::vector<Place> commandsOf(const fb::PlanT &plan, fb::Opcode opcode) {
  std::vector<Place> places;
  const auto &blocks = plan.functions[0]->blocks;
  for (size_t b = 0; b < blocks.size(); ++b)
    for (size_t c = 0; c < blocks[b]->commands.size(); ++c)
      if (blocks[b]->commands[c]->opcode == opcode)
        places.push_back({b, c});
  return places;
}

/// A graph beside this file, or a shared model, and where its ops go.
struct Case {
  const char *name;
  const char *graph;
  std::vector<std::string> flags;
  unsigned gpus = 2; ///< of the machine, where a test makes one for the case
};
inline void PrintTo(const Case &it, std::ostream *out) { *out << it.name; }

inline std::string pathOf(const Case &it) {
  if (std::filesystem::path path = std::string(GANTRY_INPUTS "/") + it.graph;
      std::filesystem::exists(path))
    return path;
  const char *models = std::getenv("GANTRY_MODELS_DIR");
  return std::string(models ? models : GANTRY_MODELS) + "/" + it.graph;
}

} // namespace gantry::runtime::test
