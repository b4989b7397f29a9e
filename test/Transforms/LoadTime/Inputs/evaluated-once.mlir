// What a later phase has made of arguments alone moves as well; those that nothing uses any more go, and the others
// keep their results.
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">

module attributes {gantry.topology = #gantry.topology<[#cpu]>} {
  // CHECK-LABEL: func.func @main(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>, %[[B:[a-z0-9]+]]: tensor<3x2xf32> {{{.*}}gantry.once = 0 : i64}, %[[A:[a-z0-9]+]]: tensor<3x2xf32> {{{.*}}gantry.once = 1 : i64})
  // CHECK-NEXT: %[[P:.*]] = gantry.matmul %[[X]], %[[A]]
  // CHECK-NEXT: %[[Q:.*]] = gantry.matmul %[[X]], %[[B]]
  func.func @main(%x: tensor<2x3xf32>, %a: tensor<2x3xf32> {gantry.device = #cpu, gantry.once = 0 : i64},
                  %b: tensor<3x2xf32> {gantry.device = #cpu, gantry.once = 1 : i64}) -> tensor<2x2xf32> {
    %t = gantry.transpose %a {gantry.device = #cpu, permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %p = gantry.matmul %x, %t {gantry.device = #cpu} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %q = gantry.matmul %x, %b {gantry.device = #cpu} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %y = gantry.add %p, %q {gantry.device = #cpu} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %y : tensor<2x2xf32>
  }
  // CHECK-LABEL: func.func @at_load()
  // CHECK: %[[R:.*]] = gantry.random_uniform {{.*}} tensor<2x3xf32>
  // CHECK: %[[S:.*]] = gantry.random_uniform {{.*}} tensor<3x2xf32>
  // CHECK: %[[T:.*]] = gantry.transpose %[[R]]
  // CHECK: return %[[S]], %[[T]] : tensor<3x2xf32>, tensor<3x2xf32>
  func.func @at_load() -> (tensor<2x3xf32> {gantry.device = #cpu}, tensor<3x2xf32> {gantry.device = #cpu})
      attributes {gantry.at_load} {
    %0 = gantry.random_uniform {gantry.device = #cpu, seed = 1 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<2x3xf32>
    %1 = gantry.random_uniform {gantry.device = #cpu, seed = 2 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<3x2xf32>
    return %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>
  }
}
