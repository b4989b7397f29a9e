#include "PlanSites.h"

#include <flatbuffers/reflection.h>

namespace gantry::plan::test {

namespace {
using flatbuffers::GetTypeSize;
using flatbuffers::Table;
using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;
using reflection::BaseType;
using Kind = Site::Kind;

template <typename T>
T read(const uint8_t *at) {
  return flatbuffers::ReadScalar<T>(at);
}

class Finder {
public:
  Finder(std::span<const uint8_t> metadata, const reflection::Schema &schema)
      : begin(metadata.data()), schema(schema) {}

  Sites run() {
    visitTable(*schema.root_table(), begin + read<uoffset_t>(begin));
    return std::move(sites);
  }

private:
  const uint8_t *begin;
  const reflection::Schema &schema;
  Sites sites;
  std::map<std::string, size_t> groupNumbers;

  const reflection::Object &objectOf(const reflection::Type &type) const {
    return *schema.objects()->Get(static_cast<uoffset_t>(type.index()));
  }

  static std::string nameOf(const reflection::Object &object) {
    const std::string name = object.name()->str();
    return name.substr(name.rfind('.') + 1);
  }

  void add(const std::string &name, Kind kind, const uint8_t *at, size_t size,
           const std::string &type = {}, bool isReal = false) {
    static constexpr const char *kinds[] = {"", "", " -> ", " length", " text", " field"};
    const std::string full = name + kinds[static_cast<size_t>(kind)];
    auto [number, isNew] = groupNumbers.try_emplace(full, sites.groups.size());
    if (isNew)
      sites.groups.push_back({full, type, {}});
    sites.groups[number->second].sites.push_back(
        {kind, isReal, static_cast<uint32_t>(at - begin), static_cast<uint32_t>(size)});
  }

  void addNumber(const std::string &name, BaseType type, const uint8_t *at) {
    add(name, Kind::number, at, GetTypeSize(type), {}, type == BaseType::Double);
  }

  void addStructure(const std::string &name, const reflection::Object &object, const uint8_t *at) {
    add(name, Kind::structure, at, static_cast<size_t>(object.bytesize()));
    for (const reflection::Field *field : *object.fields())
      addNumber(name + "." + field->name()->str(), field->type()->base_type(),
                at + field->offset());
  }

  /// Gives where it leads to.
  const uint8_t *addReference(const std::string &name, const std::string &type, const uint8_t *at) {
    add(name, Kind::reference, at, sizeof(uoffset_t), type);
    const uint8_t *target = at + read<uoffset_t>(at);
    sites.targets[type].push_back(static_cast<uint32_t>(target - begin));
    return target;
  }

  void visitText(const std::string &name, const uint8_t *at) {
    const uint8_t *text = addReference(name, "text", at);
    add(name, Kind::length, text, sizeof(uoffset_t));
    if (uoffset_t length = read<uoffset_t>(text))
      add(name, Kind::text, text + sizeof(uoffset_t), length);
  }

  void visitList(const std::string &name, const reflection::Type &type, const uint8_t *at) {
    const reflection::Object *object = type.element() == BaseType::Obj ? &objectOf(type) : nullptr;
    const std::string element =
        object ? nameOf(*object) : reflection::EnumNameBaseType(type.element());
    const uint8_t *list = addReference(name, "list of " + element, at);
    add(name, Kind::length, list, sizeof(uoffset_t));
    const bool isStructure = object && object->is_struct();
    const size_t step = isStructure ? static_cast<size_t>(object->bytesize())
                        : object    ? sizeof(uoffset_t)
                                    : GetTypeSize(type.element());
    const uint8_t *place = list + sizeof(uoffset_t);
    for (uoffset_t i = 0; i < read<uoffset_t>(list); ++i, place += step) {
      if (isStructure)
        addStructure(name, *object, place);
      else if (object)
        visitTable(*object, addReference(name, element, place));
      else if (type.element() == BaseType::String)
        visitText(name, place);
      else
        addNumber(name, type.element(), place);
    }
  }

  void visitField(const std::string &name, const reflection::Type &type, const uint8_t *at) {
    switch (type.base_type()) {
    case BaseType::String:
      return visitText(name, at);
    case BaseType::Vector:
      return visitList(name, type, at);
    case BaseType::Obj:
      if (objectOf(type).is_struct())
        return addStructure(name, objectOf(type), at);
      return visitTable(objectOf(type), addReference(name, nameOf(objectOf(type)), at));
    default:
      return addNumber(name, type.base_type(), at);
    }
  }

  void visitTable(const reflection::Object &object, const uint8_t *at) {
    const auto *table = reinterpret_cast<const Table *>(at);
    for (const reflection::Field *field : *object.fields()) {
      const voffset_t offset = table->GetOptionalFieldOffset(field->offset());
      if (offset == 0)
        continue;
      const std::string name = nameOf(object) + "." + field->name()->str();
      add(name, Kind::field, table->GetVTable() + field->offset(), sizeof(voffset_t));
      visitField(name, *field->type(), at + offset);
    }
  }
};

} // namespace

Sites findSites(std::span<const uint8_t> metadata, std::span<const uint8_t> schema) {
  return Finder(metadata, *reflection::GetSchema(schema.data())).run();
}

} // namespace gantry::plan::test
