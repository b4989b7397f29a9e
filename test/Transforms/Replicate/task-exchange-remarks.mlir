// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-collectives{exchanges small-bytes=16}))' --verify-diagnostics -o /dev/null

// Where NCCL is asked for, it is told why it is not used; little would not have used it anyway.
module attributes {gantry.targets = #gantry.targets<libraries = ["nccl"]>, gantry.topology = #gantry.topology<[#gantry.device<"/job:w/replica:0/task:0/device:CPU:0">, #gantry.device<"/job:w/replica:0/task:1/device:CPU:0">]>} {
  func.func @sum(%a: tensor<8xf32>, %b: tensor<4xf32>) {
    // expected-remark @below {{is done by exchanges between tasks, not by NCCL: '/job:w/task:0/device:CPU:0' is no GPU}}
    %0:2 = gantry.all_reduce sum %a, %a on ["/job:w/task:{0..1}/CPU:0"] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %1:2 = gantry.all_reduce sum %b, %b on ["/job:w/task:{0..1}/CPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return
  }
}
