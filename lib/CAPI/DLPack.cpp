// Arrays as other libraries take and give them.
#include "DLPackTypes.h"
#include "Handles.h"

#include "gantry/Device/DeviceName.h"

using namespace gantry;
using namespace gantry::capi;
using namespace gantry::runtime;

namespace {

struct TypePair {
  ElementType element;
  dlpack::DataType type;
};

constexpr TypePair typePairs[] = {
    {ElementType::f32, {dlpack::floating, 32, 1}},
    {ElementType::f64, {dlpack::floating, 64, 1}},
    {ElementType::f16, {dlpack::floating, 16, 1}},
    {ElementType::bf16, {dlpack::bfloat, 16, 1}},
    {ElementType::i8, {dlpack::integer, 8, 1}},
    {ElementType::u8, {dlpack::unsignedInteger, 8, 1}},
    {ElementType::i16, {dlpack::integer, 16, 1}},
    {ElementType::u16, {dlpack::unsignedInteger, 16, 1}},
    {ElementType::i32, {dlpack::integer, 32, 1}},
    {ElementType::u32, {dlpack::unsignedInteger, 32, 1}},
    {ElementType::i64, {dlpack::integer, 64, 1}},
    {ElementType::u64, {dlpack::unsignedInteger, 64, 1}},
    {ElementType::i1, {dlpack::boolean, 8, 1}},
};

dlpack::DataType typeOf(ElementType element) {
  for (const TypePair &pair : typePairs)
    if (pair.element == element)
      return pair.type;
  return {};
}

Expected<ElementType> elementOf(dlpack::DataType type) {
  for (const TypePair &pair : typePairs)
    if (pair.type.code == type.code && pair.type.bits == type.bits && type.lanes == 1)
      return pair.element;
  return Status::unsupported("DLPack's element type of code " + std::to_string(type.code) +
                             " with " + std::to_string(type.bits) + " bits and " +
                             std::to_string(type.lanes) + " lanes has no counterpart here");
}

Expected<dlpack::Device> deviceOf(const Array &array) {
  const std::string_view driver = array.device().driver().name();
  if (array.device().runsInline())
    return dlpack::Device{dlpack::cpu, 0};
  if (driver != "cuda")
    return Status::unsupported("the memory of '" + array.device().name() + "', which driver '" +
                               std::string(driver) +
                               "' simulates, cannot be shared; copy the array to the host first");
  const auto known = array.runtime()->find(*DeviceName::parse(array.device().name()));
  const uint32_t physical = known ? known->logical->physical : 0;
  return dlpack::Device{
      dlpack::cuda,
      static_cast<int32_t>(array.runtime()->topology().physical[physical].name.id.value_or(0))};
}

/// What a managed tensor keeps: the array, and strides that older readers want.
struct Shared {
  std::shared_ptr<Array> array;
  std::vector<int64_t> shape, strides;

  explicit Shared(std::shared_ptr<Array> given)
      : array(std::move(given)), shape(array->type().shape), strides(shape.size(), 1) {
    for (size_t axis = shape.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * shape[axis];
  }

  dlpack::Tensor tensor(dlpack::Device device) {
    return {array->data(),
            device,
            static_cast<int32_t>(shape.size()),
            typeOf(array->type().element),
            shape.data(),
            strides.data(),
            0};
  }
};

template <typename Form>
void deleteForm(Form *managed) {
  delete static_cast<Shared *>(managed->context);
  delete managed;
}

bool isContiguous(const dlpack::Tensor &tensor) {
  int64_t step = 1;
  for (int32_t axis = tensor.rank; tensor.strides && axis-- > 0;) {
    if (tensor.shape[axis] == 0)
      return true;
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != step)
      return false;
    step *= tensor.shape[axis];
  }
  return true;
}

/// The device of the runtime's that a foreign tensor is on.
Expected<DeviceName> placeOf(const Runtime &runtime, dlpack::Device device) {
  if (device.kind == dlpack::cpu)
    return DeviceName::local(DeviceType::CPU, 0);
  if (device.kind != dlpack::cuda)
    return Status::unsupported("DLPack's device type " + std::to_string(device.kind) +
                               " is neither that of CPUs, 1, nor that of CUDA, 2");
  const Topology &topology = runtime.topology();
  for (const LogicalDevice &logical : topology.logical) {
    const PhysicalDevice &physical = topology.physical[logical.physical];
    if (physical.driver == gantry::Driver::cuda &&
        physical.name.id == static_cast<uint32_t>(device.id))
      return logical.name;
  }
  return Status::unsupported("the array is on CUDA's GPU " + std::to_string(device.id) +
                             ", which is not among the devices: " + topology.deviceList());
}

Expected<std::shared_ptr<Array>> take(const std::shared_ptr<Runtime> &runtime,
                                      const dlpack::Tensor &tensor) {
  GANTRY_RETURN_IF_ERROR(runtime->checkProcess());
  if (!isContiguous(tensor))
    return Status::unsupported(
        "the array is not row-major and contiguous; give a contiguous copy of it");
  Expected<ElementType> element = elementOf(tensor.type);
  if (!element)
    return element.status();
  Expected<DeviceName> place = placeOf(*runtime, tensor.device);
  if (!place)
    return place.status();
  Expected<Device *> device = runtime->device(*place);
  if (!device)
    return device.status();
  return Array::borrow(runtime, **device, {*element, {tensor.shape, tensor.shape + tensor.rank}},
                       static_cast<uint8_t *>(tensor.data) + tensor.byteOffset, {});
}

/// The deleter comes into the array's hands only when nothing can fail any more.
template <typename Form>
gantry_status_t takeForm(gantry_runtime_t *runtime, Form *managed, gantry_array_t **array) {
  Expected<std::shared_ptr<Array>> view = take(runtime->object, managed->tensor);
  if (!view)
    return finish(view.status());
  auto release = [managed] {
    if (managed->deleter)
      managed->deleter(managed);
  };
  Array &seen = **view;
  return give(Array::borrow(runtime->object, seen.device(), seen.type(), seen.data(), release),
              array);
}

} // namespace

gantry_status_t gantry_array_to_dlpack(const gantry_array_t *array, int is_versioned,
                                       void **managed) {
  clear(managed);
  GANTRY_NEED(array && managed);
  Expected<dlpack::Device> device = deviceOf(*array->object);
  if (!device)
    return finish(device.status());
  auto *shared = new Shared(array->object);
  if (is_versioned)
    *managed = new dlpack::Versioned{
        {1, 0}, shared, deleteForm<dlpack::Versioned>, 0, shared->tensor(*device)};
  else
    *managed = new dlpack::Managed{shared->tensor(*device), shared, deleteForm<dlpack::Managed>};
  return GANTRY_OK;
}

gantry_status_t gantry_array_from_dlpack(gantry_runtime_t *runtime, void *managed, int is_versioned,
                                         gantry_array_t **array) {
  clear(array);
  GANTRY_NEED(runtime && managed && array);
  if (!is_versioned)
    return takeForm(runtime, static_cast<dlpack::Managed *>(managed), array);
  auto *versioned = static_cast<dlpack::Versioned *>(managed);
  if (versioned->version.major > 1)
    return finish(Status::unsupported("version " + std::to_string(versioned->version.major) +
                                      " of DLPack; versions 0 and 1 are known"));
  return takeForm(runtime, versioned, array);
}

gantry_status_t gantry_array_dlpack_device(const gantry_array_t *array, int32_t *type,
                                           int32_t *id) {
  GANTRY_NEED(array && type && id);
  Expected<dlpack::Device> device = deviceOf(*array->object);
  if (!device)
    return finish(device.status());
  *type = device->kind;
  *id = device->id;
  return GANTRY_OK;
}
