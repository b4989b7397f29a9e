// Few long rows are reduced in parts on GPUs; on CPUs all elements are, row by row.
// RUN: gantry-opt %s --gantry-split-reductions | FileCheck %s
// RUN: gantry-opt %s --gantry-split-reductions --gantry-form-kernels --gantry-verify-kernels | FileCheck %s --check-prefix=KERNELS
// KERNELS-LABEL: func.func @one_row(
// KERNELS-COUNT-2: gantry.launch

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {

// All dimensions at once; the result's shape is that of the op.
// CHECK-LABEL: func.func @one_row(
// CHECK: %[[X:.*]] = gantry.reshape %{{.*}} {gantry.device = #[[GPU:.*]]} : (tensor<1024x1024xf32>) -> tensor<256x4096xf32>
// CHECK: %[[PARTS:.*]] = gantry.reduce_sum %[[X]] {axes = array<i64: 1>, gantry.device = #[[GPU]], gantry.name = "s/parts"} : (tensor<256x4096xf32>) -> tensor<256xf32>
// CHECK: %[[SUM:.*]] = gantry.reduce_sum %[[PARTS]] {axes = array<i64: 0>, gantry.device = #[[GPU]], gantry.name = "s"} : (tensor<256xf32>) -> tensor<f32>
// CHECK: %[[Y:.*]] = gantry.reshape %[[SUM]] {gantry.device = #[[GPU]]} : (tensor<f32>) -> tensor<1x1xf32>
// CHECK: return %[[Y]]
func.func @one_row(%x: tensor<1024x1024xf32>) -> tensor<1x1xf32> {
  %0 = gantry.reduce_sum %x {axes = array<i64: 0, 1>, keep_dims, gantry.device = #gpu, gantry.name = "s"} : (tensor<1024x1024xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}

// The more rows there are, the fewer parts; a length that is not a multiple of any has a few more.
// CHECK-LABEL: func.func @eight_rows(
// CHECK: gantry.reshape %{{.*}} : (tensor<8x99000xf32>) -> tensor<8x33x3000xf32>
// CHECK: gantry.reduce_mean %{{.*}} : (tensor<8x33x3000xf32>) -> tensor<8x33xf32>
// CHECK: gantry.reduce_mean %{{.*}} : (tensor<8x33xf32>) -> tensor<8xf32>
func.func @eight_rows(%x: tensor<8x99000xf32>) -> tensor<8xf32> {
  %0 = gantry.reduce_mean %x {axes = array<i64: 1>, gantry.device = #gpu} : (tensor<8x99000xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Parts are rounded to the type: nothing of that shows in a maximum.
// CHECK-LABEL: func.func @halves(
// CHECK: gantry.reduce_max {{.*}} -> tensor<256xf16>
// CHECK: gantry.reduce_max {{.*}} -> tensor<f16>
// CHECK-NOT: gantry.reduce_sum {{.*}} -> tensor<256xf16>
// CHECK: gantry.reduce_sum %{{.*}} : (tensor<65536xf16>) -> tensor<f16>
func.func @halves(%x: tensor<65536xf16>) -> (tensor<f16>, tensor<f16>) {
  %0 = gantry.reduce_max %x {axes = array<i64: 0>, gantry.device = #gpu} : (tensor<65536xf16>) -> tensor<f16>
  %1 = gantry.reduce_sum %x {axes = array<i64: 0>, gantry.device = #gpu} : (tensor<65536xf16>) -> tensor<f16>
  return %0, %1 : tensor<f16>, tensor<f16>
}

// Many rows, short ones, columns, a prime number of terms, a vector on the CPU.
// CHECK-LABEL: func.func @left_alone(
// CHECK-NOT: gantry.reshape
// CHECK-COUNT-5: gantry.reduce_sum
// CHECK: return
func.func @left_alone(%many: tensor<128x40000xf32>, %short: tensor<1x30000xf32>, %columns: tensor<65536x4xf32>, %prime: tensor<65537xf32>, %here: tensor<65536xf32>)
    -> (tensor<128xf32>, tensor<1xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) {
  %0 = gantry.reduce_sum %many {axes = array<i64: 1>, gantry.device = #gpu} : (tensor<128x40000xf32>) -> tensor<128xf32>
  %1 = gantry.reduce_sum %short {axes = array<i64: 1>, gantry.device = #gpu} : (tensor<1x30000xf32>) -> tensor<1xf32>
  %2 = gantry.reduce_sum %columns {axes = array<i64: 0>, gantry.device = #gpu} : (tensor<65536x4xf32>) -> tensor<4xf32>
  %3 = gantry.reduce_sum %prime {axes = array<i64: 0>, gantry.device = #gpu} : (tensor<65537xf32>) -> tensor<f32>
  %4 = gantry.reduce_sum %here {axes = array<i64: 0>, gantry.device = #cpu} : (tensor<65536xf32>) -> tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<128xf32>, tensor<1xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>
}

// On a CPU the first dimension that is not 1 says how many rows there are.
// CHECK-LABEL: func.func @all_elements(
// CHECK: %[[X:.*]] = gantry.reshape %{{.*}} {gantry.device = #[[CPU:.*]]} : (tensor<1x300x16x32xf32>) -> tensor<300x512xf32>
// CHECK: %[[PARTS:.*]] = gantry.reduce_mean %[[X]] {axes = array<i64: 1>, gantry.device = #[[CPU]], gantry.name = "m/parts"} : (tensor<300x512xf32>) -> tensor<300xf32>
// CHECK: gantry.reduce_mean %[[PARTS]] {axes = array<i64: 0>, gantry.device = #[[CPU]], gantry.name = "m"} : (tensor<300xf32>) -> tensor<f32>
// CHECK: gantry.reduce_max {{.*}} : (tensor<300x512xbf16>) -> tensor<300xbf16>
// CHECK: gantry.reduce_max {{.*}} : (tensor<300xbf16>) -> tensor<bf16>
func.func @all_elements(%x: tensor<1x300x16x32xf32>, %h: tensor<300x512xbf16>) -> (tensor<f32>, tensor<bf16>) {
  %0 = gantry.reduce_mean %x {axes = array<i64: 0, 1, 2, 3>, gantry.device = #cpu, gantry.name = "m"} : (tensor<1x300x16x32xf32>) -> tensor<f32>
  %1 = gantry.reduce_max %h {axes = array<i64: 0, 1>, gantry.device = #cpu} : (tensor<300x512xbf16>) -> tensor<bf16>
  return %0, %1 : tensor<f32>, tensor<bf16>
}

// Not where there are few elements, short rows, another result than one number, or bf16 and integers of which
// parts would be rounded.
// CHECK-LABEL: func.func @whole_on_the_cpu(
// CHECK-NOT: gantry.reshape
// CHECK-COUNT-3: gantry.reduce_sum
// CHECK-COUNT-2: gantry.reduce_mean
// CHECK-NOT: gantry.reduce
// CHECK: return
func.func @whole_on_the_cpu(%few: tensor<64x511xf32>, %short: tensor<65536x255xf32>, %columns: tensor<300x512xf32>, %rounded: tensor<300x512xbf16>, %integers: tensor<300x512xi32>)
    -> (tensor<f32>, tensor<f32>, tensor<512xf32>, tensor<bf16>, tensor<i32>) {
  %0 = gantry.reduce_sum %few {axes = array<i64: 0, 1>, gantry.device = #cpu} : (tensor<64x511xf32>) -> tensor<f32>
  %1 = gantry.reduce_sum %short {axes = array<i64: 0, 1>, gantry.device = #cpu} : (tensor<65536x255xf32>) -> tensor<f32>
  %2 = gantry.reduce_sum %columns {axes = array<i64: 0>, gantry.device = #cpu} : (tensor<300x512xf32>) -> tensor<512xf32>
  %3 = gantry.reduce_mean %rounded {axes = array<i64: 0, 1>, gantry.device = #cpu} : (tensor<300x512xbf16>) -> tensor<bf16>
  %4 = gantry.reduce_mean %integers {axes = array<i64: 0, 1>, gantry.device = #cpu} : (tensor<300x512xi32>) -> tensor<i32>
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<512xf32>, tensor<bf16>, tensor<i32>
}

// Very many rows go part by part, of as many rows as divide them, up to 256; not fewer of them, nor a prime number, nor
// integers.
// CHECK-LABEL: func.func @many_rows(
// CHECK: %[[X:.*]] = gantry.reshape %{{.*}} {gantry.device = #[[CPU:.*]]} : (tensor<16384x4096xf32>) -> tensor<64x256x4096xf32>
// CHECK: %[[PARTS:.*]] = gantry.reduce_mean %[[X]] {axes = array<i64: 1>, gantry.device = #[[CPU]], gantry.name = "m/parts"} : (tensor<64x256x4096xf32>) -> tensor<64x4096xf32>
// CHECK: %[[ALL:.*]] = gantry.reduce_mean %[[PARTS]] {axes = array<i64: 0>, gantry.device = #[[CPU]], gantry.name = "m"} : (tensor<64x4096xf32>) -> tensor<4096xf32>
// CHECK: gantry.reshape %[[ALL]] {{.*}} -> tensor<1x4096xf32>
// CHECK-NOT: gantry.reshape
// CHECK-COUNT-3: gantry.reduce_
// CHECK-NOT: gantry.reduce_
// CHECK: return
func.func @many_rows(%x: tensor<16384x4096xf32>, %fewer: tensor<8192x4096xf32>, %prime: tensor<16411x4096xf32>, %integers: tensor<16384x4096xi32>)
    -> (tensor<1x4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xi32>) {
  %0 = gantry.reduce_mean %x {axes = array<i64: 0>, keep_dims, gantry.device = #cpu, gantry.name = "m"} : (tensor<16384x4096xf32>) -> tensor<1x4096xf32>
  %1 = gantry.reduce_sum %fewer {axes = array<i64: 0>, gantry.device = #cpu} : (tensor<8192x4096xf32>) -> tensor<4096xf32>
  %2 = gantry.reduce_sum %prime {axes = array<i64: 0>, gantry.device = #cpu} : (tensor<16411x4096xf32>) -> tensor<4096xf32>
  %3 = gantry.reduce_mean %integers {axes = array<i64: 0>, gantry.device = #cpu} : (tensor<16384x4096xi32>) -> tensor<4096xi32>
  return %0, %1, %2, %3 : tensor<1x4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xi32>
}
}
