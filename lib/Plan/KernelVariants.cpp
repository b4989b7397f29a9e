#include "gantry/Plan/KernelVariants.h"

#include "gantry/Plan/AllReducePart.h"
#include "gantry/Plan/MatrixProduct.h"
#include "gantry/Plan/Views.h"

namespace gantry::plan {

namespace {

constexpr std::string_view hostDrivers[] = {"host", "sim"};

KernelVariant viewOf(const fb::Kernel &kernel, const fb::Variant &variant) {
  KernelVariant view;
  view.driver = textOf(variant.driver());
  view.source = variant.source();
  view.code = variant.code();
  view.library = textOf(variant.library());
  view.libraryVersion = textOf(variant.library_version());
  view.symbol = textOf(variant.symbol());
  if (view.symbol.empty())
    view.symbol = textOf(kernel.symbol());
  for (const flatbuffers::String *feature : each(variant.features()))
    view.features.push_back(textOf(feature));
  view.archMin = variant.arch_min(), view.archMax = variant.arch_max();
  view.items = variant.items(), view.grain = variant.grain();
  view.grid = variant.grid(), view.block = variant.block();
  view.sharedMemory = variant.shared_memory();
  view.scratch = variant.scratch();
  return view;
}

KernelVariant oldVariant(const fb::Kernel &kernel, std::string_view driver) {
  KernelVariant view;
  view.driver = driver;
  view.source = kernel.custom() ? fb::KernelSource::registered : fb::KernelSource::code;
  view.code = kernel.code();
  view.symbol = textOf(kernel.symbol());
  return view;
}

} // namespace

std::vector<KernelVariant> variantsOf(const fb::Plan &plan, const fb::Kernel &kernel) {
  std::vector<KernelVariant> variants;
  for (const fb::Variant *variant : each(kernel.variants()))
    variants.push_back(viewOf(kernel, *variant));
  if (!variants.empty())
    return variants;
  if (kernel.custom())
    return {oldVariant(kernel, "host")};
  if (!runsOn(plan.code()->Get(kernel.code())->kind(), "host"))
    return {oldVariant(kernel, "cuda")};
  for (std::string_view driver : hostDrivers)
    variants.push_back(oldVariant(kernel, driver));
  return variants;
}

bool isMatrixProduct(const fb::Variant &variant) {
  return variant.source() == fb::KernelSource::library &&
         textOf(variant.library()) == matmulLibrary;
}

bool isCollective(const fb::Variant &variant) {
  return variant.source() == fb::KernelSource::library &&
         textOf(variant.library()) == collectiveLibrary;
}

std::vector<std::string_view> driversOf(const fb::Device &device) {
  std::string_view first = textOf(device.driver());
  if (first.empty())
    first = device.type() == fb::DeviceType::cpu ? "host" : "cuda";
  std::vector<std::string_view> drivers{first};
  for (const flatbuffers::String *driver : each(device.also()))
    drivers.push_back(textOf(driver));
  return drivers;
}

bool runsOn(fb::CodeKind kind, std::string_view driver) {
  return (kind == fb::CodeKind::elfSharedObject) == (driver != "cuda");
}

std::string KernelVariant::describe(const fb::Plan &plan) const {
  switch (source) {
  case fb::KernelSource::library:
    return std::string(library) + (libraryVersion.empty() ? "" : " " + std::string(libraryVersion));
  case fb::KernelSource::registered:
    return "the registered kernel";
  case fb::KernelSource::code:
    break;
  }
  const fb::Code &object = *plan.code()->Get(code);
  std::string needs;
  auto add = [&](std::string_view need) {
    needs += (needs.empty() ? "" : " ") + std::string(need);
  };
  // A level of the architecture ("x86-64-v3") names that too.
  const std::string_view target = textOf(object.target());
  const bool hasLevel = countOf(object.features()) != 0 &&
                        textOf(object.features()->Get(0)).starts_with(std::string(target) + "-v");
  if (!target.empty() && !hasLevel)
    add(target);
  for (const flatbuffers::String *feature : each(object.features()))
    add(textOf(feature));
  for (std::string_view feature : features)
    add(feature);
  const std::string form = object.kind() == fb::CodeKind::cubin ? "machine code"
                           : object.kind() == fb::CodeKind::ptx ? "PTX"
                                                                : "code";
  return needs.empty() ? form : form + " for " + needs;
}

} // namespace gantry::plan
