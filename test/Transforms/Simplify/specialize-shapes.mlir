// RUN: gantry-opt %s --gantry-specialize-shapes="dims=batch=8,length=3,x:1=5,arg0:0=7" | FileCheck %s

// A dimension by the name that the graph gives it; one name may stand in several places.
// CHECK-LABEL: @g1_named(
// CHECK-SAME: %{{.*}}: tensor<8x3xf32>
// CHECK-SAME: %{{.*}}: tensor<8x4xf32>
// CHECK-SAME: -> tensor<8x4xf32>
// CHECK: gantry.reduce_sum {{.*}} -> tensor<8x1xf32>
// CHECK: gantry.mul {{.*}} -> tensor<8x4xf32>
func.func @g1_named(%x: tensor<?x?xf32> {gantry.dims = ["batch", "length"]},
                    %y: tensor<?x4xf32> {gantry.dims = ["batch", ""]}) -> tensor<?x4xf32> {
  %0 = gantry.reduce_sum %x {axes = array<i64: 1>, keep_dims} : (tensor<?x?xf32>) -> tensor<?x1xf32>
  %1 = gantry.mul %0, %y : (tensor<?x1xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// By the input's name, and by its number.
// CHECK-LABEL: @unnamed(
// CHECK-SAME: %{{.*}}: tensor<7xf32>, %{{.*}}: tensor<2x5xf32>
func.func @unnamed(%a: tensor<?xf32>, %b: tensor<2x?xf32> {gantry.name = "x"}) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// A cast follows its operand, a reshape the number of elements, and what comes after follows them.
// CHECK-LABEL: @follows(
// CHECK: gantry.cast {{.*}} : (tensor<8x2x3xf32>) -> tensor<8x2x3xi32>
// CHECK: gantry.reshape {{.*}} : (tensor<8x2x3xi32>) -> tensor<8x6xi32>
// CHECK: gantry.abs {{.*}} : (tensor<8x6xi32>) -> tensor<8x6xi32>
func.func @follows(%x: tensor<?x2x3xf32> {gantry.dims = ["batch"]}) -> tensor<?x6xi32> {
  %0 = gantry.cast %x : (tensor<?x2x3xf32>) -> tensor<?x2x3xi32>
  %1 = gantry.reshape %0 : (tensor<?x2x3xi32>) -> tensor<?x6xi32>
  %2 = gantry.abs %1 : (tensor<?x6xi32>) -> tensor<?x6xi32>
  return %2 : tensor<?x6xi32>
}

// Known shapes are left alone.
// CHECK-LABEL: @known(
// CHECK: gantry.relu {{.*}} : (tensor<3xf32>) -> tensor<3xf32>
func.func @known(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = gantry.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Sizes go through control flow: results and carried values follow what goes in.
// CHECK-LABEL: @g2_control_flow(
// CHECK: gantry.if {{.*}} -> (tensor<8xf32>)
// CHECK: gantry.relu {{.*}} -> tensor<8xf32>
// CHECK: gantry.while({{.*}}) : (tensor<8xf32>, tensor<i1>) -> (tensor<8xf32>, tensor<i1>)
// CHECK: ^bb0(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<i1>):
// CHECK: ^bb0(%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<i1>):
// CHECK: gantry.add {{.*}} -> tensor<8xf32>
// CHECK: return %{{.*}} : tensor<8xf32>
func.func @g2_control_flow(%c: tensor<i1>, %x: tensor<?xf32> {gantry.dims = ["batch"]}) -> tensor<?xf32> {
  %0 = gantry.if %c -> (tensor<?xf32>) {
    %1 = gantry.relu %x : (tensor<?xf32>) -> tensor<?xf32>
    gantry.yield %1 : tensor<?xf32>
  } else {
    gantry.yield %x : tensor<?xf32>
  } : tensor<i1>
  %2:2 = gantry.while (%0, %c) : (tensor<?xf32>, tensor<i1>) -> (tensor<?xf32>, tensor<i1>) {
  ^bb0(%i: tensor<?xf32>, %more: tensor<i1>):
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<?xf32>, %more: tensor<i1>):
    %3 = gantry.add %i, %i : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %4 = gantry.logical_not %more : (tensor<i1>) -> tensor<i1>
    gantry.yield %3, %4 : tensor<?xf32>, tensor<i1>
  }
  return %2#0 : tensor<?xf32>
}
