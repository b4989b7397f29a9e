// A weight that a product wants in panels is read so by lookups as well, and the plan has it once.
// RUN: gantry-opt %s --gantry-form-kernels --gantry-verify-kernels | FileCheck %s
// RUN: gantry-opt %s --gantry-form-kernels --gantry-lower-kernels --gantry-lower-to-plan | FileCheck %s --check-prefix=PLAN --implicit-check-not='plan.constant'

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}],
    logical = [{physical = 0}]}>} {

// By rows or by columns, before the product or behind it. Lookups in weights that nobody wants in
// panels read them as they are, and so does what is no lookup.
// CHECK: gantry.kernel @gather_0 attributes {gantry.layouts = [{columns = array<i64: 20, 1>, matrices = array<i64>, rows = array<i64: 8, 20>, width = 32 : i64}, unit]}
// CHECK: gantry.kernel @gather_1 attributes {gantry.layouts = [{columns = array<i64: 20, 8>, matrices = array<i64>, rows = array<i64: 8, 1>, width = 32 : i64}, unit]}
// CHECK: gantry.kernel @gather_2 {
// CHECK: gantry.kernel @relu_0 attributes {gantry.work
// PLAN-DAG: plan.constant @{{.*}} "tied" on @d0 offset -1 size 1024 :
// PLAN-DAG: plan.constant @{{.*}} "turned" on @d0 offset -1 size 1024 :
// PLAN-DAG: plan.constant @{{.*}} "free" on @d0 offset -1 size 640 :
// PLAN-DAG: plan.constant @{{.*}} "both" on @d0 offset -1 size 1024 :
// PLAN-DAG: plan.constant @{{.*}} "both" on @d0 offset -1 size 640 :
func.func @main(%x: tensor<4x8xf32>, %at: tensor<3xi64>)
    -> (tensor<8x3xf32>, tensor<3x8xf32>, tensor<8x3xf32>, tensor<8x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>) {
  %tied = gantry.constant {gantry.name = "tied"} dense<3.0> : tensor<8x20xf32>
  %turned = gantry.constant {gantry.name = "turned"} dense<4.0> : tensor<20x8xf32>
  %free = gantry.constant {gantry.name = "free"} dense<5.0> : tensor<8x20xf32>
  %both = gantry.constant {gantry.name = "both"} dense<6.0> : tensor<8x20xf32>
  %0 = gantry.gather %tied, %at {axis = 1 : i64, gantry.device = #cpu} : (tensor<8x20xf32>, tensor<3xi64>) -> tensor<8x3xf32>
  %1 = gantry.matmul %x, %turned {transpose_b, gantry.device = #cpu} : (tensor<4x8xf32>, tensor<20x8xf32>) -> tensor<4x20xf32>
  %2 = gantry.gather %turned, %at {axis = 0 : i64, gantry.device = #cpu} : (tensor<20x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  %3 = gantry.gather %free, %at {axis = 1 : i64, gantry.device = #cpu} : (tensor<8x20xf32>, tensor<3xi64>) -> tensor<8x3xf32>
  %4 = gantry.matmul %x, %tied {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %5 = gantry.matmul %x, %both {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %6 = gantry.relu %both {gantry.device = #cpu} : (tensor<8x20xf32>) -> tensor<8x20xf32>
  return %0, %2, %3, %6, %1, %4, %5 : tensor<8x3xf32>, tensor<3x8xf32>, tensor<8x3xf32>, tensor<8x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>
}
}
