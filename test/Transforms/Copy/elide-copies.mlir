// RUN: gantry-opt %s -split-input-file --gantry-elide-copies | FileCheck %s -enable-var-scope

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A copy to where the value is, and one there and back, are the value; a forced one stays.
// CHECK-LABEL: func.func @elided
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = gantry.relu %[[X]]
// CHECK-NEXT: %[[OWN:.*]] = gantry.copy %[[A]] to "{{.*}}GPU:0" force
// CHECK-NEXT: return %[[A]], %[[A]], %[[OWN]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0]>} {
  func.func @elided(%x: tensor<4xf32> {gantry.device = #gpu0}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %same = gantry.copy %a to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %away = gantry.copy %a to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<4xf32>
    %back = gantry.copy %away to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4xf32>
    %own = gantry.copy %a to "/job:localhost/replica:0/task:0/device:GPU:0" force : tensor<4xf32>
    return %same, %back, %own : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
