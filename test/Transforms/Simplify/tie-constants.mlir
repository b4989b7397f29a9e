// A weight that is there plain and transposed is kept once.
// RUN: gantry-opt %s --pass-pipeline="builtin.module(func.func(gantry-tie-constants{least=1}))" | FileCheck %s
// RUN: gantry-opt %s --pass-pipeline="builtin.module(func.func(gantry-tie-constants))" | FileCheck %s --check-prefix=SMALL
// RUN: gantry run %s --function tied --fill ids=ramp --output y=%t.y.npy --output z=%t.z.npy
// RUN: %python -c "import numpy, sys; a = numpy.arange(6.).reshape(2, 3); y, z = map(numpy.load, sys.argv[1:]); assert (y == a[[[0, 1]]]).all() and (z == a[[[0, 1]]] @ a.T).all(), (y, z)" %t.y.npy %t.z.npy

// The product keeps its operand, the gather reads columns of it.
// CHECK-LABEL: func.func @tied(
// CHECK: %[[T:.*]] = gantry.constant {{.*}} : tensor<3x2xf32>
// CHECK-NOT: gantry.constant
// CHECK: %[[G:.*]] = gantry.gather %[[T]], %{{.*}} {axis = 1 : i64, gantry.name = "embed"} : (tensor<3x2xf32>, tensor<1x2xi64>) -> tensor<3x1x2xf32>
// CHECK: %[[Y:.*]] = gantry.transpose %[[G]] {gantry.name = "embed", permutation = array<i64: 1, 2, 0>} : (tensor<3x1x2xf32>) -> tensor<1x2x3xf32>
// CHECK: gantry.matmul %[[Y]], %[[T]]
// SMALL-LABEL: func.func @tied(
// SMALL-COUNT-2: gantry.constant
func.func @tied(%ids: tensor<1x2xi64> {gantry.name = "ids"}) -> (tensor<1x2x3xf32> {gantry.name = "y"}, tensor<1x2x2xf32> {gantry.name = "z"}) {
  %a = gantry.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %t = gantry.constant dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]> : tensor<3x2xf32>
  %y = gantry.gather %a, %ids {axis = 0 : i64, gantry.name = "embed"} : (tensor<2x3xf32>, tensor<1x2xi64>) -> tensor<1x2x3xf32>
  %z = gantry.matmul %y, %t : (tensor<1x2x3xf32>, tensor<3x2xf32>) -> tensor<1x2x2xf32>
  return %y, %z : tensor<1x2x3xf32>, tensor<1x2x2xf32>
}

// One element is another one.
// CHECK-LABEL: func.func @different(
// CHECK-COUNT-2: gantry.constant
// CHECK: gantry.gather {{.*}} {axis = 0 : i64}
func.func @different(%ids: tensor<2xi64>) -> tensor<2x2xf32> {
  %a = gantry.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %t = gantry.constant dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 6.0]]> : tensor<3x2xf32>
  %y = gantry.gather %a, %ids {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %z = gantry.matmul %y, %t : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// What is read as a whole stays as it is, and so does what is gathered from along its columns.
// CHECK-LABEL: func.func @whole(
// CHECK-COUNT-2: gantry.constant
// CHECK: gantry.gather {{.*}} {axis = 1 : i64}
func.func @whole(%ids: tensor<2xi64>, %x: tensor<3x2xf32>) -> (tensor<2x2xf32>, tensor<3x2xf32>) {
  %a = gantry.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %t = gantry.constant dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]> : tensor<3x2xf32>
  %y = gantry.gather %a, %ids {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %z = gantry.add %x, %t : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %y, %z : tensor<2x2xf32>, tensor<3x2xf32>
}

// They ask for different devices (P1).
// CHECK-LABEL: func.func @requests(
// CHECK-COUNT-2: gantry.constant
// CHECK: gantry.gather {{.*}} {axis = 0 : i64}
func.func @requests(%ids: tensor<2xi64>) -> tensor<2x2xf32> {
  %a = gantry.constant {gantry.device = #gantry.device<"CPU:0">} dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %t = gantry.constant dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]> : tensor<3x2xf32>
  %y = gantry.gather %a, %ids {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %z = gantry.matmul %y, %t : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}
