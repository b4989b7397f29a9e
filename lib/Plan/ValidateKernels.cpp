// The rules of code, kernels and their variants, and which signature holds for the launches of
// each: what a function of machine code takes is said once, beside the code, and a variant has to
// call a function that is there, in the way that it is made for.
#include "Walk.h"

#include "gantry/Plan/KernelVariants.h"
#include "gantry/Plan/MatrixProduct.h"
#include "gantry/Plan/SaidOfCode.h"

#include <bit>
#include <unordered_map>

namespace gantry::plan {

namespace {

// A kernel has few; each launch looks through them, and loading must stay linear.
constexpr uint32_t maxVariants = 64;
constexpr uint32_t maxPairs = 8; ///< of an operand with results

class KernelChecker : Walk {
public:
  KernelChecker(const Walk &walk, KernelSignatures &signatures)
      : Walk(walk), signatures(signatures) {}

  Status run() {
    GANTRY_RETURN_IF_ERROR(checkSignatures());
    GANTRY_RETURN_IF_ERROR(checkCode());
    return checkAllKernels();
  }

private:
  KernelSignatures &signatures;
  using Functions = std::unordered_map<std::string_view, const fb::Signature *>;
  std::vector<Functions> functions; ///< by code, then symbol
  std::vector<uint64_t> hashes;     ///< of signatures

  Status checkSignatures() {
    place = "signatures";
    GANTRY_RETURN_IF_ERROR(visit(plan.signatures()));
    uint32_t index = 0;
    for (const fb::Signature *signature : each(plan.signatures())) {
      place = "signatures[" + number(index++) + "]";
      GANTRY_RETURN_IF_ERROR(visitText(textOf(signature->symbol())));
      GANTRY_RETURN_IF_ERROR(checkSignature(*signature));
      hashes.push_back(hashOf(*signature));
    }
    return {};
  }

  Status checkSignature(const fb::Signature &signature) {
    if (textOf(signature.symbol()).empty())
      return fail("it has no symbol");
    for (const auto *sizes : {signature.reads(), signature.writes()}) {
      GANTRY_RETURN_IF_ERROR(visit(sizes));
      for (uint64_t size : each(sizes))
        if (size > INT64_MAX)
          return fail("a buffer of " + number(size) + " bytes");
    }
    if (signature.scratch() > INT64_MAX)
      return fail(number(signature.scratch()) + " bytes of scratch memory");
    GANTRY_RETURN_IF_ERROR(visit(signature.same()));
    if (countOf(signature.same()) > maxPairs * uint64_t(countOf(signature.reads())))
      return fail(number(countOf(signature.same())) + " pairs of operand and result");
    for (const fb::SameBuffer *same : each(signature.same())) {
      GANTRY_RETURN_IF_ERROR(checkIndex(same->read(), countOf(signature.reads()), "operand"));
      GANTRY_RETURN_IF_ERROR(checkIndex(same->written(), countOf(signature.writes()), "result"));
    }
    // Arenas begin, and arrays that are bound are made to begin, at multiples of bufferAlignment.
    if (!std::has_single_bit(signature.alignment()) || signature.alignment() > bufferAlignment)
      return fail("an alignment of " + number(signature.alignment()) + " bytes");
    if (signature.items() > INT64_MAX)
      return fail(number(signature.items()) + " work items");
    return checkExtents(signature.grid(), signature.block());
  }

  Status checkCode() {
    place = "code";
    GANTRY_RETURN_IF_ERROR(visit(plan.code()));
    uint32_t index = 0;
    for (const fb::Code *code : each(plan.code())) {
      place = "code[" + number(index++) + "]";
      if (!inEnum(code->kind()))
        return fail("unknown kind " + number(static_cast<uint8_t>(code->kind())));
      GANTRY_RETURN_IF_ERROR(
          checkInSegment(code->segment(), SegmentKind::code, code->segment_offset(), code->size()));
      if (code->segment() == nothingSaid && code->size() != 0)
        return fail("it has bytes, and lies in no segment");
      GANTRY_RETURN_IF_ERROR(visit(code->features()));
      GANTRY_RETURN_IF_ERROR(checkFunctions(*code));
    }
    return {};
  }

  /// All code says what its functions take and which bytes it is, or, of plans from before, none.
  Status checkFunctions(const fb::Code &code) {
    auto &known = functions.emplace_back();
    const bool isSigned = code.signatures() != nullptr;
    if (isSigned != (plan.signatures() != nullptr))
      return fail(isSigned ? "it has signatures, and the plan has none"
                           : "it has no signatures, and the plan has some");
    if (code.segment() != nothingSaid && isSigned != (code.content_hash() != 0))
      return fail(isSigned ? "it has signatures, and no content_hash"
                           : "it has a content_hash, and no signatures");
    GANTRY_RETURN_IF_ERROR(visit(code.signatures()));
    std::vector<uint64_t> said;
    for (uint32_t index : each(code.signatures())) {
      GANTRY_RETURN_IF_ERROR(checkIndex(index, countOf(plan.signatures()), "signature"));
      const std::string_view symbol = textOf(plan.signatures()->Get(index)->symbol());
      GANTRY_RETURN_IF_ERROR(visitText(symbol));
      if (!known.emplace(symbol, plan.signatures()->Get(index)).second)
        return fail("it has the function '" + std::string(symbol) + "' twice");
      said.push_back(hashes[index]);
    }
    return isSigned ? checkSaid(code, said) : Status();
  }

  Status checkSaid(const fb::Code &code, std::span<const uint64_t> signatureHashes) {
    for (const flatbuffers::String *feature : each(code.features()))
      GANTRY_RETURN_IF_ERROR(visitText(textOf(feature)));
    GANTRY_RETURN_IF_ERROR(visitText(textOf(code.target())));
    if (saidHashOf(code, signatureHashes) != code.said_hash())
      return fail("said_hash is not that of what is said of it");
    return {};
  }

  Status checkAllKernels() {
    place = "kernels";
    GANTRY_RETURN_IF_ERROR(visit(plan.kernels()));
    uint32_t index = 0;
    for (const fb::Kernel *kernel : each(plan.kernels())) {
      place = "kernels[" + number(index++) + "]";
      if (textOf(kernel->symbol()).empty())
        return fail("it has no symbol");
      signatures.addKernel();
      GANTRY_RETURN_IF_ERROR(checkVariants(*kernel));
    }
    return {};
  }

  Status checkVariants(const fb::Kernel &kernel) {
    if (countOf(kernel.variants()) == 0)
      return kernel.custom() ? Status() : checkOldKernel(kernel);
    if (kernel.custom())
      return fail("it is custom and has variants; a registered kernel is a variant then");
    if (kernel.variants()->size() > maxVariants)
      return fail(number(kernel.variants()->size()) + " variants, at most " + number(maxVariants));
    GANTRY_RETURN_IF_ERROR(visit(kernel.variants()));
    const std::string kernelPlace = place;
    uint32_t index = 0;
    for (const fb::Variant *variant : each(kernel.variants())) {
      place = kernelPlace + ", variants[" + number(index++) + "]";
      GANTRY_RETURN_IF_ERROR(checkVariant(*variant));
      if (variant->source() == fb::KernelSource::code)
        GANTRY_RETURN_IF_ERROR(checkSigned(kernel, *variant));
    }
    return {};
  }

  /// From before variants: one of its code, by its own name.
  Status checkOldKernel(const fb::Kernel &kernel) {
    GANTRY_RETURN_IF_ERROR(checkIndex(kernel.code(), countOf(plan.code()), "code"));
    const fb::Signature *signature = nullptr;
    GANTRY_RETURN_IF_ERROR(findSignature(kernel.code(), textOf(kernel.symbol()), signature));
    if (!signature)
      return {};
    if (signature->grid() || signature->block())
      return fail("it has no variants, and its function has a grid");
    signatures.add({{}, signature, 0});
    return {};
  }

  /// That it calls a function of its code, in the way that the function is made for.
  Status checkSigned(const fb::Kernel &kernel, const fb::Variant &variant) {
    const std::string_view own = textOf(variant.symbol());
    const fb::Signature *signature = nullptr;
    GANTRY_RETURN_IF_ERROR(
        findSignature(variant.code(), own.empty() ? textOf(kernel.symbol()) : own, signature));
    if (!signature)
      return {};
    if (!isSame(variant.grid(), signature->grid()) ||
        !isSame(variant.block(), signature->block()) ||
        variant.shared_memory() != signature->shared_memory())
      return fail("its grid, block or shared memory is not that of the function '" +
                  signature->symbol()->str() + "'");
    signatures.add({textOf(variant.driver()), signature, variant.items()});
    return {};
  }

  /// Null for code of plans from before signatures.
  Status findSignature(uint32_t code, std::string_view symbol, const fb::Signature *&found) {
    if (!plan.signatures())
      return {};
    GANTRY_RETURN_IF_ERROR(visitText(symbol));
    auto known = functions[code].find(symbol);
    if (known == functions[code].end())
      return fail("code " + number(code) + " has no function '" + std::string(symbol) + "'");
    found = known->second;
    return {};
  }

  static bool isSame(const fb::Extent *a, const fb::Extent *b) {
    return a && b ? a->x() == b->x() && a->y() == b->y() && a->z() == b->z() : a == b;
  }

  Status checkVariant(const fb::Variant &variant) {
    if (!inEnum(variant.source()))
      return fail("unknown source " + number(static_cast<uint8_t>(variant.source())));
    GANTRY_RETURN_IF_ERROR(checkDriver(textOf(variant.driver())));
    GANTRY_RETURN_IF_ERROR(visit(variant.features()));
    for (const flatbuffers::String *feature : each(variant.features()))
      if (textOf(feature).empty())
        return fail("a feature has no name");
    GANTRY_RETURN_IF_ERROR(checkSource(variant));
    if (variant.arch_max() != 0 && variant.arch_min() > variant.arch_max())
      return fail("architectures " + number(variant.arch_min()) + " to " +
                  number(variant.arch_max()));
    if (variant.items() > INT64_MAX || variant.grain() > INT64_MAX)
      return fail(number(variant.items()) + " work items in grains of " + number(variant.grain()));
    if (variant.scratch() > INT64_MAX)
      return fail(number(variant.scratch()) + " bytes of scratch memory");
    return checkGeometry(variant);
  }

  /// That it is complete for its source, and says nothing that only another source has.
  Status checkSource(const fb::Variant &variant) const {
    const bool isLibrary = variant.source() == fb::KernelSource::library;
    if (isLibrary == textOf(variant.library()).empty())
      return fail(isLibrary ? "it names no library"
                            : "it names the library '" + variant.library()->str() +
                                  "', and its source is another");
    if (!isDotted(textOf(variant.library_version())))
      return fail("the version '" + variant.library_version()->str() +
                  "' is not numbers and dots, like 12.4");
    if (isMatrixProduct(variant))
      if (Expected<MatrixProduct> product = MatrixProduct::parse(textOf(variant.symbol()));
          !product)
        return fail(product.status().message());
    if (variant.source() != fb::KernelSource::code)
      return {};
    GANTRY_RETURN_IF_ERROR(checkIndex(variant.code(), countOf(plan.code()), "code"));
    fb::CodeKind kind = plan.code()->Get(variant.code())->kind();
    if (!runsOn(kind, textOf(variant.driver())))
      return fail("code " + number(variant.code()) + " is " + fb::EnumNameCodeKind(kind) +
                  ", which devices of driver '" + variant.driver()->str() + "' do not run");
    return {};
  }

  /// "12.4.1"; also the empty version, which any library fulfils.
  static bool isDotted(std::string_view version) {
    bool digitBefore = version.empty();
    for (char c : version) {
      const bool isDigit = c >= '0' && c <= '9';
      if (!isDigit && !(c == '.' && digitBefore))
        return false;
      digitBefore = isDigit;
    }
    return digitBefore;
  }

  /// Only GPUs count in blocks; what is given has no side of 0, and is no more than any GPU takes.
  Status checkGeometry(const fb::Variant &variant) const {
    const fb::Extent *grid = variant.grid(), *block = variant.block();
    const bool isGPU = textOf(variant.driver()) == "cuda";
    if (!isGPU && (grid || block || variant.shared_memory() != 0))
      return fail("it has a grid, a block or shared memory, which '" + variant.driver()->str() +
                  "' has not");
    if (isGPU && variant.source() == fb::KernelSource::code && !(grid && block))
      return fail("it has no grid or no block");
    return checkExtents(grid, block);
  }

  Status checkExtents(const fb::Extent *grid, const fb::Extent *block) const {
    constexpr uint64_t most = INT32_MAX, mostThreads = 1024;
    for (const fb::Extent *extent : {grid, block})
      if (extent)
        for (uint64_t side : {extent->x(), extent->y(), extent->z()})
          if (side == 0 || side > most)
            return fail("a side of " + number(side) + " in its grid or block");
    if (block &&
        (block->x() > mostThreads || block->y() > mostThreads || block->z() > mostThreads ||
         uint64_t(block->x()) * block->y() * block->z() > mostThreads))
      return fail("a block of " + number(block->x()) + " x " + number(block->y()) + " x " +
                  number(block->z()) + " threads, at most 1024");
    return {};
  }
};

} // namespace

Status checkKernels(const Walk &walk, KernelSignatures &signatures) {
  return KernelChecker(walk, signatures).run();
}

} // namespace gantry::plan
