// What one lane has under way.
#pragma once

#include "Progress.h"

#include "gantry/Runtime/Transport.h"

#include <map>
#include <memory>
#include <mutex>

namespace gantry::runtime::mpi {

/// A lane's communicators: its messages are told apart by its number as their tag, its collectives
/// by a communicator for each group.
struct Channel {
  uint32_t number = 0;
  Handle messages = 0; ///< of all ranks
  std::vector<Handle> groups;
  std::vector<Group> members;
};

/// What lanes of a transport share. Used on the thread of Progress only, but for what is constant.
struct Wire {
  const Library &library;
  Progress &progress;
  uint32_t rank = 0, ranks = 1;
  uint64_t mostBytes = 0;
};

class MPILane : public Lane {
public:
  MPILane(Wire wire, Channel channel, std::function<void(uint32_t)> closed);
  ~MPILane() override; ///< waits for what is under way

  void begin(const Exchange &exchange, Completion &done) override;

private:
  struct Part;

  void admit();
  void start(Part &part);
  void startMessage(Part &part);
  void startBroadcast(Part &part);
  void startAllGather(Part &part);
  void startAllToAll(Part &part);
  /// Where neither sizes nor offsets can be counted by an int: message by message, in pieces.
  void startByMessages(Part &part);
  /// Calls `piece` with the offset and the number of bytes of each piece that a call can count; of
  /// no bytes there is one.
  void forPieces(uint64_t bytes, const std::function<void(uint64_t, int)> &piece) const;
  int tagOf(Handle on) const;
  void send(Operation &operation, const char *data, uint64_t bytes, uint32_t peer, Handle on,
            bool isSynchronous);
  void receive(Operation &operation, char *data, uint64_t bytes, uint32_t peer, Handle on);
  void ended(Part &part);

  Wire wire;
  Channel channel;
  std::function<void(uint32_t)> closed;
  std::map<uint32_t, uint32_t> messagesTo, broadcastsIn; ///< how many, by peer and by group

  std::mutex mutex;
  std::condition_variable isIdle;
  std::deque<std::unique_ptr<Part>> waiting; ///< of begin, in order
  size_t underWay = 0, unfinished = 0;
};

} // namespace gantry::runtime::mpi
