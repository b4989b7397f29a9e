// Of what is cut out, or looked up, as much is read as comes out, whatever it lies in.
// RUN: gantry compile %s -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s

// CHECK-LABEL: plan.func @slice
// CHECK: plan.launch @slice_{{.*}} bytes 262144 on
func.func @slice(%x: tensor<16384x1024xf32>) -> tensor<32x1024xf32> {
  %0 = gantry.slice %x {starts = array<i64: 320, 0>, sizes = array<i64: 32, 1024>, steps = array<i64: 1, 1>} : (tensor<16384x1024xf32>) -> tensor<32x1024xf32>
  return %0 : tensor<32x1024xf32>
}

// CHECK-LABEL: plan.func @gather
// CHECK: plan.launch @gather_{{.*}} bytes 262400 on
func.func @gather(%x: tensor<16384x1024xf32>, %i: tensor<32xi64>) -> tensor<32x1024xf32> {
  %0 = gantry.gather %x, %i {axis = 0 : i64} : (tensor<16384x1024xf32>, tensor<32xi64>) -> tensor<32x1024xf32>
  return %0 : tensor<32x1024xf32>
}
