// Policy `follow`: ops without a request go where most of what they read is.
// RUN: gantry-opt %s --gantry-place=follow=true --mlir-print-local-scope | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {

// CHECK-LABEL: @p6_follow
// CHECK: gantry.abs {{.*}}device:CPU:0">{{.*}}<"follow", "where its largest inputs are">
// CHECK: gantry.neg {{.*}}device:GPU:1">{{.*}}<"follow"
// CHECK: gantry.concat {{.*}}device:GPU:1">{{.*}}<"follow"
// CHECK: gantry.exp {{.*}}device:GPU:0">{{.*}}<"requested"
// CHECK: gantry.relu {{.*}}device:GPU:1">{{.*}}<"requested"
func.func @p6_follow(%x: tensor<4xf32>, %y: tensor<400xf32> {gantry.device = #gantry.device<"GPU:1">}) {
  %one = gantry.constant dense<1.0> : tensor<4000xf32>
  %0 = gantry.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %v = gantry.reshape %y : (tensor<400xf32>) -> tensor<400xf32>
  %1 = gantry.neg %v : (tensor<400xf32>) -> tensor<400xf32>
  %2 = gantry.concat %0, %1, %one {axis = 0 : i64} : (tensor<4xf32>, tensor<400xf32>, tensor<4000xf32>) -> tensor<4404xf32>
  %3 = gantry.exp %2 {gantry.device = #gantry.device<"GPU">} : (tensor<4404xf32>) -> tensor<4404xf32>
  %4 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

}
