// A compiler and a graph behind their handles, for the parts of the compiler library.
#pragma once

#include "Contexts.h"
#include "Diagnostics.h"

#include "gantry-c/graph.h"
#include "gantry/Frontend/GraphBuilder.h"

#include <deque>

struct gantry_compiler_t {
  std::shared_ptr<gantry::capi::Contexts> contexts;
};

struct gantry_graph_t {
  gantry::capi::Contexts::Lease lease; ///< outlives what is built in it
  gantry::GraphBuilder builder;
  gantry::capi::Listener listener;
  std::string text = {};                                         ///< that was printed last
  mutable std::deque<std::vector<int64_t>> dims = {};            ///< that types of values point to
  mutable std::vector<const std::vector<int64_t> *> dimsOf = {}; ///< by value; null: not asked for
  /// A call is under way, or did not come to its end since there was no memory: see Use.
  mutable bool isLost = false;

  gantry_graph_t(gantry::capi::Contexts::Lease given, std::string name,
                 gantry::capi::Listener listener)
      : lease(std::move(given)), builder(&lease.context(), std::move(name)), listener(listener) {}
};

namespace gantry::capi {

/// While a call works on a graph. Where memory runs out nothing of the call is taken back, this
/// object neither, so that the graph stays lost.
class Use {
public:
  explicit Use(const gantry_graph_t &graph) : graph(graph) { graph.isLost = true; }
  Use(const Use &) = delete;
  ~Use() { graph.isLost = false; }

  static Status check(const gantry_graph_t &graph) {
    return graph.isLost ? Status::failedPrecondition("memory ran out in an earlier call, and the "
                                                     "graph was lost; build it anew")
                        : Status();
  }

private:
  const gantry_graph_t &graph;
};

} // namespace gantry::capi
