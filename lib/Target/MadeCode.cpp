// By a hash of the module's bitcode with the order of uses, which passes may follow. With
// exceptions: the lock is given back where there is no memory for what is kept.

#include "gantry/Target/MadeCode.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>
#include <mutex>

using namespace mlir;
using namespace gantry;

namespace {
/// What was made, by its key, and in which order.
class MadeCode {
public:
  static MadeCode &ofProcess() {
    static MadeCode made;
    return made;
  }

  std::optional<CodeBytes> find(StringRef key) {
    std::lock_guard<std::mutex> lock(mutex);
    auto entry = codes.find(key);
    return entry == codes.end() ? std::nullopt : std::optional<CodeBytes>(entry->second);
  }

  void keep(StringRef key, const CodeBytes &code) {
    std::lock_guard<std::mutex> lock(mutex);
    if (code.size() > kMost || !codes.try_emplace(key, code).second)
      return;
    size += code.size();
    order.push_back(key.str());
    while (size > kMost)
      forgetOldest();
  }

private:
  static constexpr size_t kMost = size_t(32) << 20;

  void forgetOldest() {
    auto oldest = codes.find(order.front());
    size -= oldest->second.size();
    codes.erase(oldest);
    order.pop_front();
  }

  std::mutex mutex;
  llvm::StringMap<CodeBytes> codes;
  std::deque<std::string> order;
  size_t size = 0;
};
} // namespace

std::string gantry::keyOfCode(const llvm::Module &module, StringRef machine) {
  llvm::SmallString<0> bytes(machine);
  bytes.push_back('\0');
  llvm::raw_svector_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
  auto hash = llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(bytes));
  return std::string(hash.begin(), hash.end());
}

FailureOr<CodeBytes> gantry::makeCodeOnce(StringRef key,
                                          function_ref<FailureOr<CodeBytes>()> make) {
  if (std::optional<CodeBytes> made = MadeCode::ofProcess().find(key))
    return std::move(*made);
  FailureOr<CodeBytes> code = make();
  if (succeeded(code))
    MadeCode::ofProcess().keep(key, *code);
  return code;
}
